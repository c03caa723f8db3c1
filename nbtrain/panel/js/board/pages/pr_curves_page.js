// The page of the precision-recall curves: a chart for each tag, its runs overlaid.

import { PrCard } from "../cards/pr_card.js";
import { TagGroups } from "../tag_groups.js";
import { runsByTag } from "../tags.js";

/** @import { Board } from "../board.js" */
/** @import { Page } from "./pages.js" */

export class PrCurvesPage {
  /** @type {Map<string, string[]>} */
  runsByTag = new Map(); // the runs of each tag

  /** @param {Board} board */
  constructor(board) {
    /** @type {TagGroups<string, PrCard>} */
    this.groups = new TagGroups(board, "pr_curves", {
      make: (tag) => new PrCard(tag, board, this),
      shown: (card) => card.update(),
      hidden: (card) => card.clear(),
    });
    this.visible = this.groups.visible;
    this.root = this.groups.root;
    this.root.dataset.kind = "pr_curves";
  }

  /** @type {Page["show"]} */
  show(index, chosen, matches) {
    this.runsByTag = runsByTag(index.kinds.pr_curves, index.runs);
    const shown = [...this.runsByTag].filter(([tag, runs]) => matches(tag) && runs.some(chosen));
    this.groups.show(new Map(shown.map(([tag]) => [tag, [tag]])));
    this.visible.forEach((card) => {
      card.redraw();
      card.update();
    });
    return `${shown.length} of ${this.runsByTag.size} tags`;
  }

  /** @param {string | null} run */
  highlight(run) {
    this.visible.forEach((card) => card.chart.highlight(run));
  }

  retheme() {
    this.visible.forEach((card) => card.redraw());
  }

  close() {
    this.groups.close();
  }
}
