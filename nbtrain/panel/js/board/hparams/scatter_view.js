// Scatter plots: for each hyperparameter, its values along x, a metric along y, a point for each run.

import { el, labelled, say } from "../../shared/dom.js";
import { getOrMake } from "../../shared/collections.js";
import { Viewport } from "../../shared/viewport.js";
import { Colouring } from "./colouring.js";
import { ScatterChart } from "./scatter_chart.js";
import { axisOf } from "./value_axis.js";

/** @import { HparamsColumn, HparamsHost, HparamsRow, HparamsShown, HparamsView } from "../pages/hparams_page.js" */

/** @implements {HparamsView} */
export class ScatterView {
  /** @type {HparamsShown | null} */
  shown = null;
  /** @type {HparamsColumn | undefined} */
  metric = undefined; // along the y axes
  /** @type {boolean | undefined} */
  log = undefined; // of the y axes; undefined: as the values' range suggests
  /** @type {HparamsRow | null} */
  pointed = null;
  /** @type {Map<string, HparamsRow[]>} */
  shades = new Map();
  /** @type {Map<string, ScatterChart>} */
  charts = new Map();
  /** @type {Viewport<ScatterChart>} */
  viewport = new Viewport({
    shown: (chart) => chart.draw(),
    hidden: (chart) => chart.destroy(),
  });
  select = el("select", { "aria-label": "metric up the y axis", "data-role": "metric" });
  logBox = el("input", { type: "checkbox", "data-role": "log-y" });
  words = el("div", { class: "nbt-notice", role: "status", hidden: "" });
  grid = el("div", { class: "nbt-grid" });

  /** @param {HparamsHost} host */
  constructor(host) {
    this.host = host;
    this.colouring = new Colouring(host, () => this.#draw());
    this.select.addEventListener("change", () => {
      this.log = undefined;
      this.#draw();
    });
    this.logBox.addEventListener("change", () => {
      this.log = this.logBox.checked;
      this.#draw();
    });
    const tools = el("div", {
      class: "nbt-sheet-tools",
      children: [labelled("y", this.select), labelled("log y", this.logBox), this.colouring.root],
    });
    this.root = el("div", {
      class: "nbt-scatters",
      "data-role": "scatter",
      children: [tools, this.words, this.grid],
    });
    this.size = new ResizeObserver(() => this.viewport.visible.forEach((chart) => chart.resize()));
    this.size.observe(this.grid);
  }

  /** @param {HparamsShown} shown */
  show(shown) {
    this.shown = shown;
    this.#draw();
  }

  close() {
    this.size.disconnect();
    this.viewport.close();
  }

  // --- what its charts call

  /** @param {HparamsRow | null} row */
  highlight(row) {
    if (this.pointed === row) return;
    this.pointed = row;
    this.viewport.visible.forEach((chart) => chart.show(row));
  }

  /**
   * The columns in the tip besides that of a chart.
   * @param {HparamsColumn} column
   */
  otherColumns(column) {
    const both = new Set([this.metric, this.colouring.column]);
    return [...both].filter((each) => each !== undefined).filter((each) => each !== column);
  }

  #draw() {
    if (!this.shown) return;
    const { columns, rows, chosen } = this.shown;
    const metrics = columns.filter(({ isMetric }) => isMetric);
    const hparams = columns.filter(({ isMetric }) => !isMetric);
    const before = this.select.value;
    this.select.replaceChildren(
      ...metrics.map(({ id, text }) => el("option", { value: id, text })),
    );
    this.metric = metrics.find(({ id }) => id === before) ?? metrics[0];
    this.select.value = this.metric?.id ?? "";
    const axis = this.metric && axisOf(this.metric.values, this.log);
    this.logBox.checked = axis?.scale === "log";
    this.logBox.disabled = !axis?.canLog;
    this.colouring.show(columns);
    this.shades = this.colouring.shades(chosen);
    say(this.words, wordsOf({ rows, metrics, hparams }));
    this.#arrange(this.words.hidden ? hparams : []);
    this.viewport.visible.forEach((chart) => chart.draw());
  }

  /** @param {HparamsColumn[]} columns */
  #arrange(columns) {
    const roots = columns.map((column) => this.#chart(column).root);
    const { children } = this.grid;
    if (roots.length !== children.length || roots.some((root, i) => root !== children[i]))
      this.grid.replaceChildren(...roots);
    this.viewport.recheck();
  }

  /** @param {HparamsColumn} column */
  #chart(column) {
    const chart = getOrMake(this.charts, column.id, () => {
      const made = new ScatterChart(column, this);
      this.viewport.watch(made);
      return made;
    });
    chart.column = column; // the values may have changed
    return chart;
  }
}

/** @param {{rows: HparamsRow[], metrics: HparamsColumn[], hparams: HparamsColumn[]}} of */
function wordsOf({ rows, metrics, hparams }) {
  if (!rows.length) return "No run matches the filter.";
  if (!hparams.length) return "No hyperparameter is selected: see Columns.";
  return metrics.length ? "" : "No metric is selected: see Columns.";
}
