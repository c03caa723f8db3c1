// Cards grouped by the prefix of their tag, each group to be folded; the ten thousandth card
// is put into the page only when it is asked for.

import { el } from "./dom.js";
import { groups } from "./tags.js";

const OPEN_CARDS = 400; // up to so many cards every group begins open
const AT_ONCE = 60; // cards of a group that are put into the page before more are asked for

export class TagGroups {
  // root: gives the element of a card, by its key.
  constructor(root) {
    Object.assign(this, { rootOf: root, open: new Map(), more: new Map() });
    this.root = el("div", { class: "nbt-groups", "data-role": "groups" });
  }

  // found: for each tag the keys of its cards, a Map.
  show(found) {
    const grouped = groups([...found.keys()]).map(({ name, tags }) => ({ name, keys: tags.flatMap((tag) => found.get(tag)) }));
    const all = grouped.reduce((n, { keys }) => n + keys.length, 0) <= OPEN_CARDS;
    this.root.replaceChildren(...grouped.map((group, i) => this.#group(group, grouped.length === 1 || (this.open.get(group.name) ?? (all || i === 0)))));
    if (grouped.length === 1 && !grouped[0].name) this.root.firstChild.classList.add("nbt-sole");
  }

  #group({ name, keys }, open) {
    const grid = el("div", { class: "nbt-grid" });
    const title = [el("span", { text: name || "no prefix" }), el("small", { text: String(keys.length) })];
    const group = el("details", { class: "nbt-group", "data-group": name, children: [el("summary", { children: title }), grid] });
    const fill = () => {
      const most = this.more.get(name) ?? AT_ONCE;
      grid.replaceChildren(...keys.slice(0, most).map(this.rootOf));
      if (keys.length <= most) return;
      const more = el("button", { type: "button", text: `${keys.length - most} more` });
      more.addEventListener("click", () => {
        this.more.set(name, most + AT_ONCE);
        fill();
      });
      grid.append(more);
    };
    group.open = open;
    if (open) fill();
    group.addEventListener("toggle", () => {
      if (group.open === (this.open.get(name) ?? open)) return;
      this.open.set(name, group.open);
      if (group.open) fill();
    });
    return group;
  }
}
