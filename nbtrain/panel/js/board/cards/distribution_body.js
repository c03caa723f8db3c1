// The percentiles of a tag's histograms over the steps: bands about the median.

import { floats } from "../../shared/columns.js";
import { el } from "../../shared/dom.js";
import { axes, yScale } from "../../shared/plot.js";
import { PlotBody } from "./plot_body.js";
import { nearest } from "./ridges.js";
import { number, place } from "../../shared/format.js";

const PERCENT = ["0", "6.68", "15.87", "30.85", "50", "69.15", "84.13", "93.32", "100"];
const MEDIAN = 4;
const OPAQUE = ["1f", "33", "4d", "66"]; // of the bands, from the widest to the narrowest

export class DistributionBody extends PlotBody {
  get height() {
    return 200;
  }

  static several = true; // of all steps at once: it needs no slider

  constructor(card) {
    super(card, "percentiles");
  }

  // Of a message the places among the steps; the buffer: for each of these its percentiles.
  show({ shown }, buffers) {
    const rows = floats(buffers[0]);
    const value = (row, i) => rows[row * PERCENT.length + i];
    const column = (i) =>
      shown.map((_, row) => (Number.isFinite(value(row, i)) ? value(row, i) : null));
    this.data = [shown.map((i) => this.card.steps[i]), ...PERCENT.map((_, i) => column(i))];
    this.draw();
    this.root.dataset.points = shown.length;
  }

  options() {
    const { colour } = this;
    const points = { show: this.data[0].length === 1, size: 5, fill: colour };
    const line = (i) =>
      i === MEDIAN
        ? { stroke: colour, width: 1.8, points }
        : { stroke: `${colour}66`, width: 0.75, points };
    const along = (u, min, max) => (min === max ? [min - 1, max + 1] : [min, max]);
    return {
      series: [{}, ...PERCENT.map((_, i) => line(i))],
      bands: OPAQUE.map((part, i) => ({
        series: [PERCENT.length - i, i + 1],
        fill: `${colour}${part}`,
      })),
      scales: { x: { time: false, range: along }, y: yScale(false) },
      axes: axes(this.paint, { log: false }),
      cursor: { points: { show: false }, y: false, drag: { x: false, y: false } },
      padding: [8, 16, 0, 0],
    };
  }

  told(u) {
    const [steps, ...columns] = this.data;
    const at = nearest(steps, u.posToVal(u.cursor.left, "x"));
    const row = (i) => [
      el("span", { class: "nbt-soft nbt-percent", text: `${PERCENT[i]} %` }),
      el(i === MEDIAN ? "b" : "span", { text: number(columns[i][at] ?? NaN) }),
    ];
    const rows = PERCENT.map((_, i) => el("div", { class: "nbt-tip-row", children: row(i) }));
    return [
      el("div", { class: "nbt-tip-head", text: place(steps[at], "step") }),
      ...rows.reverse(),
    ];
  }
}
