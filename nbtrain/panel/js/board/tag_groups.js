// Cards in groups by the prefix of their tag, which can be folded. If there are very many
// cards or groups, the page has the first ones, and the others on request.

import { el, focusedIn } from "../shared/dom.js";
import { known } from "../shared/sure.js";
import { groups } from "./tags.js";

/** @import { Board } from "./board.js" */

const OPEN_CARDS = 400; // up to so many cards every group begins open
const PINNED = "/"; // names the group of pinned cards, as no prefix does
const AT_ONCE = 60; // cards of a group, and groups, that are put there before more are asked for

/** @template Key The key of a card. */
export class TagGroups {
  /**
   * @param {(key: Key) => HTMLElement} root returns the element of a card
   * @param {ReturnType<Board["folds"]>} folds the groups that the reader has folded or unfolded
   */
  constructor(root, { open, changed }) {
    this.rootOf = root;
    this.open = open;
    this.changed = changed;
    /** @type {Map<string, number>} */
    this.more = new Map();
    this.most = AT_ONCE;
    this.root = el("div", { class: "nbt-groups", "data-role": "groups" });
  }

  /**
   * @param {Map<string, Key[]>} found the keys of each tag's cards
   * @param {Key[]} [pinned] of cards that come before all groups
   */
  show(found, pinned = []) {
    const grouped = groups([...found.keys()]).map(({ name, tags }) => ({
      name,
      keys: tags.flatMap((tag) => known(found, tag)),
    }));
    const all = grouped.reduce((n, { keys }) => n + keys.length, 0) <= OPEN_CARDS;
    const focused = focusedIn(this.root);
    const first = pinned.length ? [this.#group(PINNED, pinned, this.open.get(PINNED) ?? true)] : [];
    const folded = [
      ...first,
      ...grouped.slice(0, this.most).map(({ name, keys }, i) => {
        const open = grouped.length === 1 || (this.open.get(name) ?? (all || i === 0));
        return this.#group(name, keys, open);
      }),
    ];
    this.root.replaceChildren(...folded);
    if (grouped.length > this.most)
      this.root.append(
        this.#more(`${grouped.length - this.most} more groups`, () => {
          this.most += AT_ONCE;
          this.show(found, pinned);
        }),
      );
    if (grouped.length === 1 && !grouped[0].name && !pinned.length)
      folded[0].classList.add("nbt-sole");
    focused?.focus({ preventScroll: true });
  }

  /**
   * @param {string} text
   * @param {() => void} act
   */
  #more(text, act) {
    const button = el("button", { type: "button", text });
    button.addEventListener("click", act);
    return button;
  }

  /**
   * @param {string} name
   * @param {Key[]} keys
   * @param {boolean} open
   */
  #group(name, keys, open) {
    const grid = el("div", { class: "nbt-grid" });
    const title = [
      el("span", { text: name === PINNED ? "★ pinned" : name || "no prefix" }),
      el("small", { text: String(keys.length) }),
    ];
    const summary = el("summary", { children: title });
    const group = el("details", {
      class: "nbt-group",
      "data-group": name,
      children: [summary, grid],
    });
    const fill = () => {
      const most = this.more.get(name) ?? AT_ONCE;
      grid.replaceChildren(...keys.slice(0, most).map(this.rootOf));
      if (keys.length <= most) return;
      grid.append(
        this.#more(`${keys.length - most} more`, () => {
          this.more.set(name, most + AT_ONCE);
          fill();
        }),
      );
    };
    group.open = open;
    if (open) fill();
    // The event "toggle" comes late, also of a group that is made open.
    summary.addEventListener("click", () => {
      this.open.set(name, !group.open);
      this.changed();
    });
    group.addEventListener("toggle", () => {
      if (group.open && !grid.firstChild) fill();
    });
    return group;
  }
}
