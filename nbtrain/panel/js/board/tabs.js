// The tabs of a board, by the WAI-ARIA pattern: the arrow keys, Home and End choose a tab.

import { el } from "../shared/dom.js";

let boards = 0; // that this page has seen: ids must differ

export class Tabs {
  /**
   * choose: called with the name of a tab.
   * @param {(name: string) => void} choose
   * @param {string} [label]
   */
  constructor(choose, label = "dashboards") {
    this.choose = choose;
    this.id = `nbt-tab-${boards++}`;
    /** @type {Map<string, HTMLButtonElement>} */
    this.tabs = new Map();
    this.root = el("div", {
      class: "nbt-tabs",
      role: "tablist",
      "aria-label": label,
      hidden: "",
    });
    this.root.addEventListener("keydown", (event) => this.#key(event));
  }

  /**
   * Shows these tabs; a single one needs no bar.
   * @param {Record<string, string>} labels by name, in order
   * @param {string} chosen
   */
  show(labels, chosen) {
    const names = Object.keys(labels);
    if (names.join() !== [...this.tabs.keys()].join()) {
      const focused = this.root.contains(document.activeElement);
      this.tabs = new Map(
        names.map((name) => [name, this.tabs.get(name) ?? this.#tab(name, labels[name])]),
      );
      this.root.replaceChildren(...this.tabs.values());
      if (focused) this.tabs.get(chosen)?.focus();
    }
    for (const [name, tab] of this.tabs) {
      tab.setAttribute("aria-selected", String(name === chosen));
      tab.tabIndex = name === chosen ? 0 : -1;
    }
    this.root.hidden = names.length < 2;
  }

  /**
   * Makes an element the panel of a tab.
   * @param {string} name
   * @param {HTMLElement} root
   */
  panel(name, root) {
    const id = `${this.id}-${name}`;
    for (const [key, value] of Object.entries({
      role: "tabpanel",
      id: `${id}-panel`,
      "aria-labelledby": id,
    }))
      root.setAttribute(key, value);
    return root;
  }

  /**
   * @param {string} name
   * @param {string} text
   */
  #tab(name, text) {
    const id = `${this.id}-${name}`;
    const tab = el("button", {
      type: "button",
      role: "tab",
      id,
      "aria-controls": `${id}-panel`,
      "data-tab": name,
      text,
    });
    tab.addEventListener("click", () => this.choose(name));
    return tab;
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const names = [...this.tabs.keys()];
    const at = names.findIndex((name) => this.tabs.get(name) === event.target);
    /** @type {Record<string, number>} */
    const ways = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: names.length - 1 };
    const to = ways[event.key];
    if (at < 0 || to === undefined) return;
    const name = names[(to + names.length) % names.length];
    this.choose(name);
    this.tabs.get(name)?.focus();
    event.preventDefault();
    event.stopPropagation(); // not a command of the notebook's
  }
}
