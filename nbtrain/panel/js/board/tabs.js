// The tabs of a board, by the WAI-ARIA pattern: the arrow keys, Home and End choose a tab. A row that does
// not fit scrolls to the chosen tab and fades at the sides where it is cut.

import { button, el } from "../shared/dom.js";

const PEEK = 36; // visible pixels of a neighbour; a little more than board.css fades
let boards = 0; // the rows of tabs of this page: ids must differ

export class Tabs {
  chosen = "";

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
    this.root.addEventListener("scroll", () => this.#cut());
    this.size = new ResizeObserver(() => this.#reveal());
    this.size.observe(this.root);
  }

  /**
   * Shows these tabs; a single one needs no bar.
   * @param {Record<string, string>} labels by name, in order
   * @param {string} chosen
   */
  show(labels, chosen) {
    const names = Object.keys(labels);
    const others = names.join() !== [...this.tabs.keys()].join();
    const other = others || chosen !== this.chosen;
    if (others) {
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
    this.chosen = chosen;
    this.root.hidden = names.length < 2;
    if (other) this.#reveal(); // otherwise the user may have scrolled it
  }

  close() {
    this.size.disconnect();
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
    return button({ role: "tab", id, "aria-controls": `${id}-panel`, "data-tab": name, text }, () =>
      this.choose(name),
    );
  }

  // Scrolls the row, and nothing around it, until the chosen tab is visible.
  #reveal() {
    const tab = this.tabs.get(this.chosen);
    if (!tab) return;
    const [row, own] = [this.root, tab].map((node) => node.getBoundingClientRect());
    const [before, after] = [own.left - PEEK - row.left, own.right + PEEK - row.right];
    if (before < 0) this.root.scrollLeft += before;
    else if (after > 0) this.root.scrollLeft += Math.min(after, before);
    this.#cut();
  }

  // Sets on which sides there are more tabs.
  #cut() {
    const { scrollLeft, clientWidth, scrollWidth } = this.root;
    const sides = [
      scrollLeft > 1 && "before",
      scrollLeft + clientWidth < scrollWidth - 1 && "after",
    ];
    this.root.dataset.cut = sides.filter(Boolean).join(" ");
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
    event.stopPropagation(); // not a command of the notebook
  }
}
