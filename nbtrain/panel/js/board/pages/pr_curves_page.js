// The page of the precision-recall curves: a chart for each tag, its runs overlaid.

import { PrCard } from "../cards/pr_card.js";
import { TagGroups } from "../tag_groups.js";
import { having } from "../tags.js";

/** @import { Board } from "../board.js" */
/** @import { Page } from "./pages.js" */

export class PrCurvesPage {
  /** @type {Map<string, string[]>} */
  having = new Map(); // the runs of each tag

  /** @param {Board} board */
  constructor(board) {
    /** @type {TagGroups<string, PrCard>} */
    this.groups = new TagGroups(board, "pr_curves", {
      make: (tag) => new PrCard(tag, board, this),
      shown: (card) => card.wanted(),
      hidden: (card) => card.clear(),
    });
    this.seen = this.groups.seen;
    this.root = this.groups.root;
    this.root.dataset.kind = "pr_curves";
  }

  /** @type {Page["show"]} */
  show(index, chosen, fits) {
    this.having = having(index.kinds.pr_curves, index.runs);
    const shown = [...this.having].filter(([tag, runs]) => fits(tag) && runs.some(chosen));
    this.groups.show(new Map(shown.map(([tag]) => [tag, [tag]])));
    this.seen.forEach((card) => {
      card.redraw();
      card.wanted();
    });
    return `${shown.length} of ${this.having.size} tags`;
  }

  /** @param {string | null} run */
  point(run) {
    this.seen.forEach((card) => card.chart.emphasize(run));
  }

  retheme() {
    this.seen.forEach((card) => card.redraw());
  }

  close() {
    this.groups.close();
  }
}
