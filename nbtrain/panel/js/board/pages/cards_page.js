// A page for one kind of summary, with a card for each tag and run.

import { apart } from "../choices.js";
import { Card } from "../cards/card.js";
import { el } from "../../shared/dom.js";
import { ensured } from "../../shared/sure.js";
import { Viewport } from "../../shared/viewport.js";
import { TagGroups } from "../tag_groups.js";
import { having } from "../tags.js";

/** @import { Kind, Tags } from "../../protocol.d.ts" */
/** @import { Board } from "../board.js" */
/** @import { BodyKind } from "../cards/card.js" */
/** @import { Page } from "./pages.js" */

/** @typedef {[tag: string, run: string]} Key Of a card. */

/**
 * The class of a page.
 * @param {Kind} kind
 * @param {BodyKind} Body what a card of the kind shows
 * @param {Kind} [of] the kind whose tags are shown
 */
export function cardsPage(kind, Body, of = kind) {
  return class extends CardsPage {
    /** @param {Board} board */
    constructor(board) {
      super(board, { kind, Body, of });
    }
  };
}

export class CardsPage {
  /**
   * @param {Board} board
   * @param {{kind: Kind, Body: BodyKind, of: Kind}} shown
   */
  constructor(board, { kind, Body, of }) {
    this.board = board;
    this.kind = kind;
    this.Body = Body;
    this.of = of;
    /** @type {Map<string, Card>} */
    this.cards = new Map();
    /** @type {Map<string, string[]>} */
    this.having = new Map();
    /** @type {Tags | null} */
    this.drawn = null; // what `having` is of
    this.key = ""; // of what is drawn
    this.option = false;
    /** @type {Viewport<Card>} */
    this.viewport = new Viewport({
      shown: (card) => card.wanted(),
      hidden: (card) => card.clear(),
    });
    this.seen = this.viewport.seen;
    /** @type {TagGroups<Key>} */
    this.groups = new TagGroups((key) => this.#card(key).root, board.folds(kind));
    this.root = this.groups.root;
    this.root.dataset.kind = kind;
    this.tools = Body.option && this.#option(Body.option);
    this.size = new ResizeObserver(() => this.seen.forEach((card) => card.body.resize?.()));
    this.size.observe(this.root);
  }

  /** @type {Page["show"]} */
  show(index, chosen, fits) {
    const tags = index.kinds[this.of];
    if (this.drawn !== tags) {
      this.drawn = tags;
      this.having = having(tags, index.runs);
    }
    /** @type {Map<string, Key[]>} */
    const found = new Map();
    for (const [tag, runs] of this.having) {
      const keys = fits(tag)
        ? runs.filter(chosen).map((run) => /** @type {Key} */ ([tag, run]))
        : [];
      if (keys.length) found.set(tag, keys);
    }
    const { pins } = this.board.choices.values;
    const { pinned, others } = apart(found, pins);
    const key = JSON.stringify([pinned, [...others]]);
    if (this.key !== key) {
      this.key = key;
      this.groups.show(others, pinned);
      this.cards.forEach((card) => card.pin.show(pins.includes(card.tag)));
      this.viewport.recheck();
    }
    this.seen.forEach((card) => card.wanted());
    return `${found.size} of ${this.having.size} tags`;
  }

  /** @param {string | null} run */
  point(run) {
    this.seen.forEach((card) =>
      card.root.classList.toggle(
        "nbt-faint",
        run !== null && this.board.leaderOf(card.run) !== run,
      ),
    );
  }

  retheme() {
    this.cards.forEach((card) => card.repaint());
  }

  close() {
    this.size.disconnect();
    this.viewport.close();
  }

  /** @param {Key} key */
  #card(key) {
    const name = JSON.stringify(key);
    return ensured(this.cards, name, () => {
      const card = new Card(this.board, this, key);
      card.pin.show(this.board.choices.values.pins.includes(card.tag));
      this.viewport.watch(card);
      return card;
    });
  }

  /** @param {NonNullable<BodyKind["option"]>} option */
  #option({ text, title }) {
    const box = el("input", { type: "checkbox", "data-role": "option" });
    box.addEventListener("change", () => {
      this.option = box.checked;
      this.root.classList.toggle("nbt-option", this.option);
      this.seen.forEach((card) => card.body.choose?.());
    });
    return el("label", { class: "nbt-field", title, children: [box, el("span", { text })] });
  }
}
