// A plot of one hyperparameter and one metric: a point for each run.

import { button, el, say } from "../../shared/dom.js";
import { BaseChart } from "../../shared/base_chart.js";
import { fullScreen } from "../full_screen.js";
import { axes, cursorOf } from "../../shared/plot.js";
import { tipOf } from "./tip.js";
import { axisOf, fitting, placeOf, ticksOf } from "./value_axis.js";
import { named } from "../../shared/name.js";

/** @import uPlot from "uplot" */
/** @import { ScatterView } from "./scatter_view.js" */
/** @import { HparamsColumn, HparamsRow } from "../pages/hparams_page.js" */
/** @import { ValueAxis } from "./value_axis.js" */

/** @typedef {{row: HparamsRow, x: number, y: number}} Point x and y are parts of the axes. */

/** @typedef {{x: ValueAxis, y: ValueAxis}} Axes */

const NEAR = 12; // pixels from the pointer to a point
const FAINT = 0.2; // the opacity of points that a filter excludes
const EDGE = 0.04; // of an axis, beyond its ends
const SIDES = 66; // pixels beside the plot
const MANY = 600; // points from which on all are small
/** @type {Record<string, number>} */
const WAYS = { ArrowDown: -1, ArrowLeft: -1, ArrowUp: 1, ArrowRight: 1 };

export class ScatterChart extends BaseChart {
  get height() {
    return 210;
  }

  /**
   * @param {HparamsColumn} column
   * @param {ScatterView} view
   */
  constructor(column, view) {
    super(`${column.text}: the arrow keys read run after run, Enter marks one`);
    this.column = column;
    this.view = view;
    /** @type {boolean | undefined} */
    this.log = undefined; // undefined: as the values' range suggests
    /** @type {Point[]} */
    this.points = []; // the points that match the filters, sorted by x
    /** @type {Point[]} */
    this.others = [];
    /** @type {Map<string, Point[]>} */
    this.shades = new Map(); // the points of each colour
    /** @type {Point | null} */
    this.pointed = null;
    /** @type {Axes | null} */
    this.axes = null;
    this.ring = el("div", { class: "nbt-ring", hidden: "" });
    this.missing = el("span", { class: "nbt-soft", "data-role": "missing" });
    this.button = button({ text: "log", title: "Logarithmic x axis" }, () => {
      this.log = this.axes?.x.scale !== "log";
      this.draw();
    });
    const name = named(column.text, { class: "nbt-tag" });
    const children = [name, this.missing, this.button];
    const head = el("div", { class: "nbt-chart-head", children });
    this.root = el("section", {
      class: "nbt-chart nbt-scatter",
      "data-hparam": column.text,
      children: [head, this.host],
    });
    head.append(fullScreen(column.text, this));
    this.host.addEventListener("click", () => this.#mark());
  }

  get look() {
    const { x, y } = this.axes ?? {};
    const ends = [x, y].map((axis) => axis && [axis.scale, axis.low, axis.high, ...axis.places]);
    return JSON.stringify([this.view.host.board.paint(), ends]);
  }

  draw() {
    const { shown, metric } = this.view;
    if (!this.hasRoom() || !shown || !metric) return;
    const along = axisOf(this.column.values, this.log);
    this.axes = { x: along, y: axisOf(metric.values, this.view.log) };
    const meant = new Set(shown.chosen);
    const points = this.#pointsOf(shown.rows, this.axes, metric);
    this.points = points.filter(({ row }) => meant.has(row)).sort((one, other) => one.x - other.x);
    this.others = points.filter(({ row }) => !meant.has(row));
    const places = new Map(this.points.map((point) => [point.row, point]));
    this.shades = new Map();
    for (const [colour, rows] of this.view.shades)
      this.shades.set(
        colour,
        rows.flatMap((row) => places.get(row) ?? []),
      );
    const missing = shown.rows.length - points.length;
    say(this.missing, missing ? `${missing.toLocaleString("en")} without a value` : "");
    this.button.hidden = !along.canLog;
    this.button.setAttribute("aria-pressed", String(along.scale === "log"));
    this.root.dataset.points = String(this.points.length);
    if (!this.plot || this.drawn !== this.look) this.#build(this.axes);
    else this.plot.redraw(false);
    this.show(this.view.pointed);
  }

  /**
   * Highlights the point of a row, also if the pointer is in another plot; null highlights none.
   * @param {HparamsRow | null} row
   */
  show(row) {
    const { plot } = this;
    const point = this.points.find((each) => each.row === row);
    this.ring.hidden = !point || !plot;
    if (!point || !plot) return;
    const [left, top] = this.#at(plot, point);
    Object.assign(this.ring.style, { left: `${left}px`, top: `${top}px` });
  }

  /** @param {uPlot} u */
  tipNodes(u) {
    this.pointed = this.#nearest(u);
    const { row = null } = this.pointed ?? {};
    u.over.style.cursor = row ? "pointer" : "";
    this.view.highlight(row);
    return row
      ? tipOf(row, [this.column, ...this.view.otherColumns(this.column)], this.view.host)
      : [];
  }

  /** @param {FocusEvent} [event] */
  leave(event) {
    super.leave(event);
    this.pointed = null;
    this.view.highlight(null);
  }

  /**
   * @param {uPlot} u
   * @param {KeyboardEvent} event
   */
  press(u, { key }) {
    if (key === "Enter") return this.#mark();
    if (!(key in WAYS) || !this.points.length) return false;
    const { length } = this.points;
    const at = this.pointed ? this.points.indexOf(this.pointed) : -1;
    const next = this.points[at < 0 ? 0 : (at + WAYS[key] + length) % length];
    const [left, top] = this.#at(u, next);
    u.setCursor({ left, top });
    return true;
  }

  #mark() {
    if (!this.pointed) return false;
    this.view.host.mark(this.pointed.row.run);
    return true;
  }

  /**
   * The points of the rows that have both values.
   * @param {HparamsRow[]} rows
   * @param {Axes} axes
   * @param {HparamsColumn} metric
   */
  #pointsOf(rows, axes, metric) {
    /** @type {Point[]} */
    const found = [];
    for (const row of rows) {
      const x = placeOf(axes.x, this.column.valueOf(row));
      const y = placeOf(axes.y, metric.valueOf(row));
      if (x !== null && y !== null) found.push({ row, x, y });
    }
    return found;
  }

  /** @param {Axes} shown */
  #build(shown) {
    const { paint } = this.view.host.board;
    const [x, y] = axes(paint, { log: false });
    /** @type {uPlot.Scale} */
    const scale = { time: false, range: () => [-EDGE, 1 + EDGE] };
    const plot = this.build(
      [
        [0, 1],
        [0, 1],
      ],
      {
        series: [{}, { show: true, paths: () => null, points: { show: false } }],
        scales: { x: scale, y: scale },
        axes: [along(x, shown.x, { fits: true }), along(y, shown.y)],
        cursor: { x: false, y: false, points: { show: false }, drag: { x: false, y: false } },
        padding: [8, 16, 0, 0],
        hooks: { draw: [(u) => this.#paint(u)] },
      },
    );
    plot.over.append(this.ring);
  }

  /** @param {uPlot} u */
  #paint(u) {
    const { ctx } = u;
    const { gone, strong } = this.view.host.board.paint();
    const ratio = devicePixelRatio || 1;
    const radius = (this.points.length > MANY ? 2 : 3.5) * ratio;
    ctx.save();
    ctx.globalAlpha = FAINT;
    dots(u, this.others, radius, gone);
    ctx.globalAlpha = 0.8;
    for (const [colour, points] of this.shades) dots(u, points, radius, colour);
    ctx.globalAlpha = 1;
    const marked = this.points.find(({ row }) => row.run === this.view.shown?.marked);
    if (marked) {
      ctx.strokeStyle = strong;
      ctx.lineWidth = 2 * ratio;
      ctx.beginPath();
      ctx.arc(u.valToPos(marked.x, "x", true), u.valToPos(marked.y, "y", true), 2 * radius, 0, 7);
      ctx.stroke();
    }
    ctx.restore();
  }

  /**
   * @param {uPlot} u
   * @param {Point} point
   */
  #at(u, { x, y }) {
    return [u.valToPos(x, "x"), u.valToPos(y, "y")];
  }

  /** @param {uPlot} u */
  #nearest(u) {
    const { left, top } = cursorOf(u);
    let best = NEAR;
    /** @type {Point | null} */
    let found = null;
    for (const point of this.points) {
      const [x, y] = this.#at(u, point);
      const distance = Math.hypot(x - left, y - top);
      if (distance <= best) [best, found] = [distance, point];
    }
    return found;
  }
}

/**
 * @param {uPlot} u
 * @param {Point[]} points
 * @param {number} radius
 * @param {string} colour
 */
function dots(u, points, radius, colour) {
  const { ctx } = u;
  ctx.fillStyle = colour;
  ctx.beginPath();
  for (const { x, y } of points) {
    const [left, top] = [u.valToPos(x, "x", true), u.valToPos(y, "y", true)];
    ctx.moveTo(left + radius, top);
    ctx.arc(left, top, radius, 0, 7);
  }
  ctx.fill();
}

/**
 * An axis of the plot with the labels of a value axis.
 * @param {uPlot.Axis} axis
 * @param {ValueAxis} values
 * @param {{fits?: boolean}} [how] whether its labels have to fit beside each other
 * @returns {uPlot.Axis}
 */
function along(axis, values, { fits = false } = {}) {
  const all = ticksOf(values).filter(({ text }) => text);
  /** @param {uPlot} u */
  const ticks = (u) => (fits ? fitting(all, (u.width - SIDES) / (1 + 2 * EDGE)) : all);
  return {
    ...axis,
    splits: (u) => ticks(u).map(({ place }) => place),
    filter: (_, splits) => splits,
    values: (u) => ticks(u).map(({ text }) => text),
  };
}
