// The percentiles of a tag's histograms over the steps, as bands around the median.

import { nearest } from "../../shared/buckets.js";
import { floats, isolated } from "../../shared/columns.js";
import { el } from "../../shared/dom.js";
import { axes, cursorOf, xScale, yScale } from "../../shared/plot.js";
import { PlotBody } from "../../shared/cards/plot_body.js";
import { number, place } from "../../shared/format.js";

/** @import uPlot from "uplot" */
/** @import { Histograms } from "../../protocol.d.ts" */
/** @import { Card } from "./card.js" */
/** @import { PlotOptions } from "../../shared/base_chart.js" */
/** @import { Body } from "../../shared/cards/body.d.ts" */
/** @import { Columns } from "../../shared/columns.js" */

const PERCENT = ["0", "6.68", "15.87", "30.85", "50", "69.15", "84.13", "93.32", "100"];
const MEDIAN = 4;
const OPAQUE = ["1f", "33", "4d", "66"]; // of the bands, from the widest to the narrowest

export class DistributionBody extends PlotBody {
  get height() {
    return 200;
  }

  static several = true; // shows all steps at once

  /** @param {Card} card */
  constructor(card) {
    super(card, "percentiles");
  }

  /**
   * The buffer holds the percentiles of each step.
   * @type {Body<Histograms>["show"]}
   */
  show({ shown }, buffers) {
    const values = floats(buffers[0]);
    const columns = PERCENT.map((_, i) =>
      shown.map((_, row) => {
        const value = values[row * PERCENT.length + i];
        return Number.isFinite(value) ? value : null;
      }),
    );
    /** @type {Columns} */
    this.data = [shown.map((i) => this.card.steps[i]), ...columns];
    this.draw();
    this.root.dataset.points = String(shown.length);
  }

  get lack() {
    const medians = this.data && [...this.data[MEDIAN + 1]];
    return medians?.every((value) => value === null) ? "No finite values at any step." : "";
  }

  /** @returns {PlotOptions} */
  options() {
    const { colour } = this;
    /** @type {uPlot.Series.Points} */
    const points = { show: true, filter: (u, i) => isolated(u.data[i]), size: 5, fill: colour };
    const median = { stroke: colour, width: 1.8, points };
    const other = { stroke: `${colour}66`, width: 0.75, points };
    return {
      series: [{}, ...PERCENT.map((_, i) => (i === MEDIAN ? median : other))],
      bands: OPAQUE.map((part, i) => ({
        series: [PERCENT.length - i, i + 1],
        fill: `${colour}${part}`,
      })),
      scales: { x: xScale(false), y: yScale(false) },
      axes: axes(this.paint, { log: false }),
      padding: [8, 16, 0, 0],
    };
  }

  /** @param {uPlot} u */
  tipNodes(u) {
    const [steps, ...columns] = this.data;
    const at = nearest(steps, u.posToVal(cursorOf(u).left, "x"));
    const rows = PERCENT.map((percent, i) => {
      const name = el("span", { class: "nbt-soft nbt-percent", text: `${percent} %` });
      const value = el(i === MEDIAN ? "b" : "span", { text: number(columns[i][at] ?? NaN) });
      return el("div", { class: "nbt-tip-row", children: [name, value] });
    });
    return [
      el("div", { class: "nbt-tip-head", text: place(steps[at], "step") }),
      ...rows.reverse(),
    ];
  }
}
