// The page of the precision-recall curves: a chart for each tag, its runs overlaid.

import { apart } from "../choices.js";
import { PrCard } from "../cards/pr_card.js";
import { TagGroups } from "../tag_groups.js";
import { having } from "../tags.js";
import { Viewport } from "../../shared/viewport.js";
import { ensured } from "../../shared/sure.js";

/** @import { Tags } from "../../protocol.d.ts" */
/** @import { Board } from "../board.js" */
/** @import { Page } from "./pages.js" */

export class PrCurvesPage {
  /** @param {Board} board */
  constructor(board) {
    this.board = board;
    /** @type {Map<string, PrCard>} */
    this.cards = new Map();
    /** @type {Map<string, string[]>} */
    this.having = new Map();
    /** @type {Tags | null} */
    this.drawn = null; // what `having` is of
    this.key = ""; // of what is drawn
    /** @type {Viewport<PrCard>} */
    this.viewport = new Viewport({
      shown: (card) => card.wanted(),
      hidden: (card) => card.clear(),
    });
    /** @type {TagGroups<string>} */
    this.groups = new TagGroups((tag) => this.#card(tag).root, board.folds("pr_curves"));
    this.root = this.groups.root;
    this.root.dataset.kind = "pr_curves";
    this.size = new ResizeObserver(() => this.viewport.seen.forEach((card) => card.resize()));
    this.size.observe(this.root);
  }

  /** @type {Page["show"]} */
  show(index, chosen, fits) {
    const tags = index.kinds.pr_curves;
    if (this.drawn !== tags) {
      this.drawn = tags;
      this.having = having(tags, index.runs);
    }
    const shown = [...this.having].filter(([tag, runs]) => fits(tag) && runs.some(chosen));
    const { pins } = this.board.choices.values;
    const { pinned, others } = apart(new Map(shown.map(([tag]) => [tag, [tag]])), pins);
    const key = JSON.stringify([pinned, [...others.keys()]]);
    if (this.key !== key) {
      this.key = key;
      this.groups.show(others, pinned);
      this.cards.forEach((card) => card.pin.show(pins.includes(card.tag)));
      this.viewport.recheck();
    }
    this.viewport.seen.forEach((card) => {
      card.redraw();
      card.wanted();
    });
    return `${shown.length} of ${this.having.size} tags`;
  }

  /** @param {string | null} run */
  point(run) {
    this.viewport.seen.forEach((card) => card.chart.emphasize(run));
  }

  retheme() {
    this.viewport.seen.forEach((card) => card.redraw());
  }

  close() {
    this.size.disconnect();
    this.viewport.close();
  }

  /** @param {string} tag */
  #card(tag) {
    return ensured(this.cards, tag, () => {
      const card = new PrCard(tag, {
        board: this.board,
        seen: this.viewport.seen,
        runsOf: (name) => this.having.get(name) ?? [],
      });
      card.pin.show(this.board.choices.values.pins.includes(tag));
      this.viewport.watch(card);
      return card;
    });
  }
}
