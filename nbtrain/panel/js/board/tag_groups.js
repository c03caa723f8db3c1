// The cards of a page in groups by the prefix of their tag, which can be collapsed, after the pinned
// cards. Of very many cards or groups, the page has the first ones, and the others on request.

import { button, el, focusedIn } from "../shared/dom.js";
import { getOrMake, get } from "../shared/collections.js";
import { Viewport } from "../shared/viewport.js";
import { splitPinned, groups } from "./tags.js";

/** @import { Pin } from "../shared/pin.js" */
/** @import { Board } from "./board.js" */

/**
 * A card of a tag: a chart, or another summary.
 * @typedef {{root: HTMLElement, tag: string, pin: Pin, resize(): void}} TagCard
 */

const PINNED = "/"; // the name of the group of pinned cards, which no prefix has
const CARDS = 24; // of a group, shown at first; each click on "more" doubles them
const GROUPS = 60; // likewise

/**
 * @template Key The key of a card.
 * @template {TagCard} Card
 */
export class TagGroups {
  /** @type {Map<string, Card>} */
  cards = new Map(); // all cards that have been shown, by key
  drawn = ""; // the keys that are drawn
  /** @type {Map<string, Key[]>} */
  found = new Map(); // the keys to draw after the full screen
  /** @type {Map<string, number>} */
  more = new Map(); // how many cards of a group are shown, if not CARDS
  most = GROUPS;
  root = el("div", { class: "nbt-groups", "data-role": "groups" });

  /**
   * make: returns a new card; shown, hidden: see viewport.js.
   * @param {Board} board
   * @param {string} tab
   * @param {{make: (key: Key) => Card, shown: (card: Card) => void, hidden: (card: Card) => void}} page
   */
  constructor(board, tab, { make, shown, hidden }) {
    this.choices = board.choices;
    this.folds = board.folds(tab);
    this.make = make;
    /** @type {Viewport<Card>} */
    this.viewport = new Viewport({ shown, hidden });
    this.visible = this.viewport.visible;
    this.size = new ResizeObserver(() => this.visible.forEach((card) => card.resize()));
    this.size.observe(this.root);
  }

  // One function, so that it is registered once.
  showLater = () => this.show(this.found);

  /** @param {Map<string, Key[]>} found the keys of each tag's cards */
  show(found) {
    const { pins } = this.choices.values;
    const { pinned, others } = splitPinned(found, pins);
    const drawn = JSON.stringify([pinned, [...others]]);
    if (this.drawn === drawn) return;
    const whole = document.fullscreenElement;
    if (whole && this.root.contains(whole)) {
      // Moving it would end the full screen.
      this.found = found;
      whole.addEventListener("fullscreenchange", this.showLater, { once: true });
      return;
    }
    this.drawn = drawn;
    this.#fill(others, pinned);
    this.cards.forEach((card) => card.pin.show(pins.includes(card.tag)));
    this.viewport.recheck();
  }

  close() {
    this.size.disconnect();
    this.viewport.close();
  }

  /** @param {Key} key */
  #card(key) {
    return getOrMake(this.cards, JSON.stringify(key), () => {
      const card = this.make(key);
      card.pin.show(this.choices.values.pins.includes(card.tag));
      this.viewport.watch(card);
      return card;
    });
  }

  /**
   * @param {Map<string, Key[]>} found
   * @param {Key[]} pinned the cards before all groups
   */
  #fill(found, pinned) {
    const { open } = this.folds;
    const grouped = groups([...found.keys()]).map(({ name, tags }) => ({
      name,
      keys: tags.flatMap((tag) => get(found, tag)),
    }));
    const all = grouped.reduce((n, { keys }) => n + keys.length, 0) <= CARDS; // then every group is open at first
    const focused = focusedIn(this.root);
    const first = pinned.length ? [this.#group(PINNED, pinned, open.get(PINNED) ?? true)] : [];
    const folded = [
      ...first,
      ...grouped.slice(0, this.most).map(({ name, keys }, i) => {
        const isOpen = grouped.length === 1 || (open.get(name) ?? (all || i === 0));
        return this.#group(name, keys, isOpen);
      }),
    ];
    this.root.replaceChildren(...folded);
    if (grouped.length > this.most)
      this.root.append(
        button({ text: `${grouped.length - this.most} more groups` }, () => {
          this.most *= 2;
          this.#fill(found, pinned);
        }),
      );
    if (grouped.length === 1 && !grouped[0].name && !pinned.length)
      folded[0].classList.add("nbt-sole");
    focused?.focus({ preventScroll: true });
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
      const most = this.more.get(name) ?? CARDS;
      grid.replaceChildren(...keys.slice(0, most).map((key) => this.#card(key).root));
      if (keys.length <= most) return;
      grid.append(
        button({ text: `${keys.length - most} more` }, () => {
          this.more.set(name, most * 2);
          fill();
        }),
      );
    };
    group.open = open;
    if (open) fill();
    // The event "toggle" is late; it also occurs for a group that is created open or was replaced.
    summary.addEventListener("click", () => {
      this.folds.open.set(name, !group.open);
      this.folds.changed();
    });
    group.addEventListener("toggle", () => {
      if (group.open && group.isConnected && !grid.firstChild) fill();
    });
    return group;
  }
}
