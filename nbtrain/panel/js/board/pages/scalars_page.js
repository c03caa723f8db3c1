// The page of the scalars: a chart for each tag with all its runs.

import { apart } from "../choices.js";
import { AxisTools } from "../../shared/axis_tools.js";
import { Charts } from "../charts/charts.js";
import { OverlayChart } from "../charts/overlay_chart.js";
import { Viewport } from "../../shared/viewport.js";
import { ensured } from "../../shared/sure.js";
import { TagGroups } from "../tag_groups.js";
import { having } from "../tags.js";

/** @import { Board } from "../board.js" */
/** @import { Options } from "../options.js" */
/** @import { Page } from "./pages.js" */

export class ScalarsPage {
  /** @param {Board} board */
  constructor(board) {
    this.board = board;
    /** @type {Map<string, OverlayChart>} */
    this.charts = new Map();
    /** @type {Map<string, string[]>} */
    this.having = new Map();
    /** @type {string[] | null} */
    this.drawn = null; // what `having` is of
    this.key = ""; // of what is drawn
    /** @type {Viewport<OverlayChart>} */
    this.viewport = new Viewport({
      shown: (chart) => this.#shown(chart),
      hidden: (chart) => chart.destroy(),
    });
    this.desk = new Charts(board, {
      seen: this.viewport.seen,
      runsOf: (tag) => this.having.get(tag) ?? [],
    });
    /** @type {TagGroups<string>} */
    this.groups = new TagGroups((tag) => this.#chart(tag).root, board.folds("scalars"));
    this.axis = new AxisTools(board.options, (changes) => this.#chosen(changes));
    this.root = this.groups.root;
    this.tools = this.axis.root;
    this.size = new ResizeObserver(() => this.retheme());
    this.size.observe(this.root);
  }

  /** @type {Page["show"]} */
  show(index, chosen, fits) {
    if (this.drawn !== index.tags) {
      this.drawn = index.tags;
      this.having = having(index, index.runs);
    }
    const tags = [...this.having]
      .filter(([tag, runs]) => fits(tag) && runs.some(chosen))
      .map(([tag]) => tag);
    const { pins } = this.board.choices.values;
    const { pinned, others } = apart(new Map(tags.map((tag) => [tag, [tag]])), pins);
    const key = JSON.stringify([pinned, [...others.keys()]]);
    if (this.key !== key) {
      this.key = key;
      this.groups.show(others, pinned);
      this.charts.forEach((chart, tag) => chart.pin.show(pins.includes(tag)));
      this.viewport.recheck();
    }
    this.axis.show();
    this.viewport.seen.forEach((chart) => this.desk.wanted(chart));
    return `${tags.length} of ${this.having.size} tags`;
  }

  /** @param {string | null} run */
  point(run) {
    this.viewport.seen.forEach((chart) => chart.emphasize(run));
  }

  retheme() {
    this.viewport.seen.forEach((chart) => chart.resize());
  }

  forget() {
    this.charts.forEach((chart) => chart.forget());
  }

  close() {
    this.size.disconnect();
    this.viewport.close();
  }

  /** @param {string} tag */
  #chart(tag) {
    return ensured(this.charts, tag, () => {
      const chart = new OverlayChart(tag, this.desk);
      chart.pin.show(this.board.choices.values.pins.includes(tag));
      this.viewport.watch(chart);
      return chart;
    });
  }

  /** @param {OverlayChart} chart */
  #shown(chart) {
    chart.resize();
    this.desk.wanted(chart);
  }

  /** @param {Partial<Options>} changes */
  #chosen(changes) {
    if ("logX" in changes) this.board.forget();
    this.board.keep();
    this.viewport.seen.forEach((chart) => this.desk.wanted(chart));
  }
}
