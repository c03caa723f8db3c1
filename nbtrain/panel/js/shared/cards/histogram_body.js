// The histograms of a tag: one behind another, oldest at the back, or overlaid. The histogram of
// the slider's step is highlighted; a click on another one moves the slider to it.

import uPlot from "uplot";
import { floats } from "../columns.js";
import { el } from "../dom.js";
import { axes, cursorOf, yScale } from "../plot.js";
import { PlotBody } from "./plot_body.js";
import { binAt, ridges } from "./ridges.js";
import { number, place, ticks } from "../format.js";
import { lastOf } from "../collections.js";

/** @import { Histograms } from "../../protocol.d.ts" */
/** @import { PlotOptions } from "../base_chart.js" */
/** @import { Body, BodyCard } from "./body.d.ts" */

const stepped = uPlot.paths.stepped?.({ align: 1 });

export class HistogramBody extends PlotBody {
  get height() {
    return 250;
  }

  static option = { text: "overlay", title: "Draw the histograms of all steps over each other" };

  /** @param {BodyCard} card */
  constructor(card) {
    super(card, "histograms");
    /** @type {number[]} */
    this.shown = []; // places among the steps
    /** @type {number[]} */
    this.steps = []; // the steps at these places
    /** @type {Float64Array[]} */
    this.counts = [];
    this.edges = new Float64Array();
    this.marked = -1;
    this.overlay = false;
    /** @type {number[]} */
    this.order = []; // this and the next two: see ridges.js
    /** @type {number[]} */
    this.bases = [];
    this.rise = 0;
    /** @type {number | undefined} */
    this.pointed = undefined; // the histogram at the pointer
    this.host.addEventListener(
      "click",
      () => this.pointed !== undefined && card.move(this.shown[this.pointed]),
    );
  }

  /**
   * The buffer holds the edges, then the counts.
   * @type {Body<Histograms>["show"]}
   */
  show({ shown }, buffers, at) {
    const numbers = floats(buffers[0]);
    const bins = (numbers.length - 1) / (shown.length + 1);
    const counts = shown.map((_, i) => numbers.subarray(bins * (i + 1) + 1, bins * (i + 2) + 1));
    const steps = shown.map((i) => this.card.steps[i]);
    this.shown = shown;
    this.steps = steps;
    this.counts = counts;
    this.edges = numbers.subarray(0, bins + 1);
    this.marked = shown.indexOf(at);
    this.choose();
    this.root.dataset.ridges = String(shown.length);
  }

  get lack() {
    const counts = this.counts?.[this.marked];
    return counts?.every((count) => !count) ? "No finite values at this step." : "";
  }

  choose() {
    if (!this.shown.length) return;
    this.overlay = Boolean(this.card.page.option);
    const { data, order, bases, rise } = ridges(this);
    this.data = data;
    this.order = order;
    this.bases = bases;
    this.rise = rise;
    this.draw();
  }

  /** @returns {PlotOptions} */
  options() {
    return {
      series: [{}, ...this.order.map((i, place) => this.#series(i, this.bases[place]))],
      scales: {
        x: { time: false, range: (u, min, max) => [min, max] },
        y: this.overlay ? yScale(false) : { dir: -1, range: this.#reach() },
      },
      axes: this.#axes(),
      padding: [6, 12, 0, 0],
    };
  }

  /** @param {uPlot} u */
  tipNodes(u) {
    const { left, top } = cursorOf(u);
    const bin = binAt(this.edges, u.posToVal(left, "x"));
    const far = this.bases.map((base, i) =>
      Math.abs(u.valToPos(u.data[i + 1][2 * bin + 1] ?? base, "y") - top),
    );
    const pointed = this.order[far.indexOf(Math.min(...far))];
    this.pointed = pointed;
    const [from, to, count] = [this.edges[bin], this.edges[bin + 1], this.counts[pointed][bin]].map(
      number,
    );
    const words = [
      el("b", { text: `about ${count}` }),
      el("span", { class: "nbt-soft", text: `from ${from} to ${to}` }),
    ];
    return [
      el("div", { class: "nbt-tip-head", text: place(this.steps[pointed], "step") }),
      el("div", { class: "nbt-tip-row", children: words }),
    ];
  }

  /** @returns {uPlot.Range.MinMax} */
  #reach() {
    const [first, last] = [this.steps[0], lastOf(this.steps)];
    return [first - this.rise, last + (last - first || 1) * 0.03];
  }

  /** @returns {uPlot.Axis[]} */
  #axes() {
    const [{ incrs, ...x }, y] = axes(this.paint, { log: false });
    const along = { ...x, space: 56 };
    if (this.overlay) return [along, y];
    return [
      along,
      {
        ...y,
        incrs,
        grid: { show: false },
        // The space above the first step is for its histogram, and has no step.
        values: (u, steps) => ticks(steps).map((text, i) => (steps[i] < this.steps[0] ? "" : text)),
      },
    ];
  }

  /**
   * A histogram hides those behind it; the marked one only shades them.
   * @param {number} i
   * @param {number} base
   * @returns {uPlot.Series}
   */
  #series(i, base) {
    const { face, text } = this.paint();
    const look = { fillTo: base, points: { show: false } };
    if (i === this.marked)
      return {
        ...look,
        paths: stepped,
        stroke: this.colour,
        width: 1.75,
        fill: mixed(this.colour, "transparent", 45),
      };
    const age = (i + 1) / this.bases.length;
    if (this.overlay)
      return { ...look, stroke: mixed(this.colour, "transparent", 15 + 45 * age), width: 1 };
    return {
      ...look,
      stroke: mixed(text, face, 35 + 30 * age),
      width: 0.75,
      fill: mixed(text, face, 4 + 14 * (1 - age)),
    };
  }
}

/**
 * @param {string} one
 * @param {string} other
 * @param {number} percent
 */
function mixed(one, other, percent) {
  return `color-mix(in srgb, ${one} ${percent}%, ${other})`;
}
