// A page for one kind of summary, with a card for each tag and run.

import { Card } from "../cards/card.js";
import { el, labelled } from "../../shared/dom.js";
import { TagGroups } from "../tag_groups.js";
import { runsByTag } from "../tags.js";

/** @import { Kind } from "../../protocol.d.ts" */
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
    this.option = false;
    /** @type {TagGroups<Key, Card>} */
    this.groups = new TagGroups(board, kind, {
      make: (key) => new Card(board, this, key),
      shown: (card) => card.update(),
      hidden: (card) => card.clear(),
    });
    this.visible = this.groups.visible;
    this.root = this.groups.root;
    this.root.dataset.kind = kind;
    this.tools = Body.option && this.#option(Body.option);
  }

  /** @type {Page["show"]} */
  show(index, chosen, matches) {
    const runsOf = runsByTag(index.kinds[this.of], index.runs);
    /** @type {Map<string, Key[]>} */
    const found = new Map();
    for (const [tag, runs] of runsOf) {
      const keys = matches(tag)
        ? runs.filter(chosen).map((run) => /** @type {Key} */ ([tag, run]))
        : [];
      if (keys.length) found.set(tag, keys);
    }
    this.groups.show(found);
    this.visible.forEach((card) => card.update());
    return `${found.size} of ${runsOf.size} tags`;
  }

  /** @param {string | null} run */
  highlight(run) {
    this.visible.forEach((card) =>
      card.root.classList.toggle(
        "nbt-faint",
        run !== null && this.board.leaderOf(card.run) !== run,
      ),
    );
  }

  retheme() {
    this.groups.cards.forEach((card) => card.repaint());
  }

  close() {
    this.groups.close();
  }

  /** @param {NonNullable<BodyKind["option"]>} option */
  #option({ text, title }) {
    const box = el("input", { type: "checkbox", "data-role": "option" });
    box.addEventListener("change", () => {
      this.option = box.checked;
      this.root.classList.toggle("nbt-option", this.option);
      this.visible.forEach((card) => card.body.choose?.());
    });
    return labelled(text, box, { title });
  }
}
