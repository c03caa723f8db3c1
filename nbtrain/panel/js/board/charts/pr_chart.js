// Precision over recall, with a curve for each run. The tip shows the nearest point of each.

import { BaseChart } from "../../shared/base_chart.js";
import { el } from "../../shared/dom.js";
import { number, ticks } from "../../shared/format.js";
import { axes, cursorOf } from "../../shared/plot.js";
import { merged, nearestPoint } from "./pr_points.js";
import { named } from "../../shared/name.js";

/** @import uPlot from "uplot" */
/** @import { PlotOptions } from "../../shared/base_chart.js" */
/** @import { Board } from "../board.js" */
/** @import { PrRows } from "./pr_points.js" */

const MOST = 4; // runs in the tip, those nearest to the pointer
/** @type {[name: keyof PrRows, text: string][]} */
const NUMBERS = [
  ["threshold", "threshold"],
  ["precision", "precision"],
  ["recall", "recall"],
  ["truePositives", "TP"],
  ["falsePositives", "FP"],
  ["trueNegatives", "TN"],
  ["falseNegatives", "FN"],
];
const FAINT = 0.2;
const FRACTIONS = [0.1, 0.2, 0.25, 0.5, 1]; // between two lines

export class PrChart extends BaseChart {
  /**
   * @param {string} tag
   * @param {Board} board
   */
  constructor(tag, board) {
    super(`precision over recall of ${tag}: the arrow keys, Home and End read values`);
    this.board = board;
    /** @type {[run: string, rows: PrRows][]} */
    this.curves = [];
    /** @type {number[][]} */
    this.places = [];
    /** @type {string | null} */
    this.pointed = null; // the leader of the fit that is highlighted
  }

  get height() {
    return 250;
  }

  get look() {
    return JSON.stringify(this.board.paint());
  }

  /** @param {[run: string, rows: PrRows][]} curves */
  show(curves) {
    this.curves = curves;
    this.host.dataset.curves = String(curves.length);
    this.draw();
  }

  draw() {
    if (!this.curves.length) return this.destroy();
    if (!this.hasRoom()) return;
    const { data, places } = merged(this.curves.map(([, rows]) => rows));
    this.places = places;
    this.build(data, this.#options());
  }

  /** @param {string | null} run */
  highlight(run) {
    this.pointed = run;
    const { plot } = this;
    if (!plot) return;
    this.curves.forEach(([each], i) => (plot.series[i + 1].alpha = this.#alpha(each)));
    plot.redraw(false);
  }

  /** @param {uPlot} u */
  tipNodes(u) {
    const { left, top } = cursorOf(u);
    const { idxs = [] } = u.cursor;
    const points = this.curves
      .map(([run, rows], i) => {
        const point = this.places[i].indexOf(idxs[i + 1] ?? -1);
        const far =
          point < 0
            ? Infinity
            : this.#distance(u, left, top)(rows.recall[point], rows.precision[point]);
        return { run, rows, point, far };
      })
      .filter(({ point }) => point >= 0)
      .sort((one, other) => one.far - other.far);
    const more = points.length - MOST;
    return [
      ...points.slice(0, MOST).flatMap((each, i) => this.#row(each, i === 0)),
      ...(more > 0 ? [el("div", { class: "nbt-soft", text: `and ${more} more` })] : []),
    ];
  }

  /**
   * @param {{run: string, rows: PrRows, point: number}} of
   * @param {boolean} nearest
   */
  #row({ run, rows, point }, nearest) {
    /** @param {(keyof PrRows)[]} names */
    const values = (...names) => names.map((name) => number(rows[name][point]));
    const [threshold, ...others] = values(...NUMBERS.map(([name]) => name));
    const head = el("div", {
      class: nearest && this.curves.length > 1 ? "nbt-tip-row nbt-nearest" : "nbt-tip-row",
      children: [
        this.board.swatch(run),
        named(this.board.nameOf(run), { class: "nbt-tip-run" }),
        el("b", { text: `threshold ${threshold}` }),
      ],
    });
    const words = NUMBERS.slice(1).map(([, name], i) => `${name}\u00a0${others[i]}`);
    return [head, el("div", { class: "nbt-soft nbt-counts", text: words.join("  ") })];
  }

  /** @returns {PlotOptions} */
  #options() {
    const [along, up] = axes(this.board.paint, { log: false });
    const look = { values: (/** @type {uPlot} */ _u, /** @type {number[]} */ all) => ticks(all) };
    const { font, text } = this.board.paint();
    const named = { labelSize: 18, labelGap: 0, labelFont: font, stroke: text };
    return {
      series: [{}, ...this.curves.map(([run, rows]) => this.#series(run, rows))],
      scales: {
        x: { time: false, range: () => [0, 1] },
        y: { range: () => [0, 1.03] },
      },
      axes: [
        { ...along, ...look, ...named, incrs: FRACTIONS, space: 40, label: "recall" },
        { ...up, ...look, ...named, incrs: FRACTIONS, size: 34, label: "precision" },
      ],
      cursor: {
        y: false,
        drag: { x: false, y: false },
        dataIdx: (u, series, closest) => this.#pointed(u, series, closest),
        points: { size: 7 },
      },
      padding: [8, 14, 0, 0],
    };
  }

  /**
   * @param {string} run
   * @param {PrRows} rows
   * @returns {uPlot.Series}
   */
  #series(run, rows) {
    const { colour, dash } = this.board.styleOf(run);
    const points = { show: rows.recall.length === 1, size: 6, fill: colour };
    return { stroke: colour, dash, width: 1.5, points, alpha: this.#alpha(run) };
  }

  /** @param {string} run */
  #alpha(run) {
    return this.pointed === null || this.pointed === this.board.leaderOf(run) ? 1 : FAINT;
  }

  /**
   * The place on the axis of a curve's point at the cursor.
   * @param {uPlot} u
   * @param {number} series
   * @param {number} closest
   */
  #pointed(u, series, closest) {
    if (!series || !this.curves[series - 1]) return closest;
    const { left, top } = cursorOf(u);
    const point = nearestPoint(this.curves[series - 1][1], this.#distance(u, left, top));
    return point === undefined ? closest : this.places[series - 1][point];
  }

  /**
   * The distance of a point from the cursor; along the axis alone if the keyboard moved the cursor.
   * @param {uPlot} u
   * @param {number} left
   * @param {number} top
   */
  #distance(u, left, top) {
    return (/** @type {number} */ recall, /** @type {number} */ precision) => {
      const x = u.valToPos(recall, "x") - left;
      const y = u.cursor.event ? u.valToPos(precision, "y") - top : 0;
      return Math.hypot(x, y);
    };
  }
}
