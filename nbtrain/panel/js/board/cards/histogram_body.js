// The histograms of a tag, one behind another from the oldest to the newest, or all over each
// other; that of the slider's step stands out, and a click on another moves the slider there.

import uPlot from "uplot";
import { floats } from "../../shared/columns.js";
import { el } from "../../shared/dom.js";
import { axes, yScale } from "../../shared/plot.js";
import { PlotBody } from "./plot_body.js";
import { binAt, nearest, ridges } from "./ridges.js";
import { number, place, ticks } from "../../shared/format.js";

const stepped = uPlot.paths.stepped({ align: 1 });

export class HistogramBody extends PlotBody {
  get height() {
    return 250;
  }

  static option = { text: "overlay", title: "Draw the histograms of all steps over each other" };

  constructor(card) {
    super(card, "histograms");
    this.host.addEventListener(
      "click",
      () => this.pointed !== undefined && card.move(this.shown[this.pointed]),
    );
  }

  // Of a message the places of the histograms among the steps; the buffer: edges, then counts.
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
    this.root.dataset.ridges = shown.length;
  }

  choose() {
    this.overlay = this.card.page.option;
    const { data, order, bases, rise } = ridges(this);
    this.data = data;
    this.order = order;
    this.bases = bases;
    this.rise = rise;
    this.draw();
  }

  options() {
    const scale = this.overlay ? yScale(false) : { dir: -1, range: this.#reach() };
    return {
      series: [{}, ...this.order.map((i, place) => this.#series(i, this.bases[place]))],
      scales: { x: { time: false, range: (u, min, max) => [min, max] }, y: scale },
      axes: this.#axes(),
      cursor: { points: { show: false }, y: false, drag: { x: false, y: false } },
      padding: [6, 12, 0, 0],
    };
  }

  told(u) {
    const { left, top } = u.cursor;
    const bin = binAt(this.edges, u.posToVal(left, "x"));
    const tops = this.bases.map((_, i) =>
      u.valToPos(u.data[i + 1][2 * bin + 1] ?? this.bases[i], "y"),
    );
    this.pointed = this.order[nearest(tops, top)];
    const [from, to, count] = [
      this.edges[bin],
      this.edges[bin + 1],
      this.counts[this.pointed][bin],
    ].map(number);
    const words = [
      el("b", { text: `about ${count}` }),
      el("span", { class: "nbt-soft", text: `from ${from} to ${to}` }),
    ];
    return [
      el("div", { class: "nbt-tip-head", text: place(this.steps[this.pointed], "step") }),
      el("div", { class: "nbt-tip-row", children: words }),
    ];
  }

  #reach() {
    const [first, last] = [this.steps[0], this.steps.at(-1)];
    return [first - this.rise, last + (last - first || 1) * 0.03];
  }

  #axes() {
    const [x, y] = axes(this.paint, { log: false });
    const along = { ...x, incrs: undefined, space: 56 };
    // Above the first step there is room for its histogram, but no step.
    const values = (u, steps) =>
      ticks(steps).map((text, i) => (steps[i] < this.steps[0] ? "" : text));
    return [along, this.overlay ? y : { ...y, incrs: x.incrs, values, grid: { show: false } }];
  }

  // One behind another, each hides what is behind it, but the marked one only shades it.
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

function mixed(one, other, percent) {
  return `color-mix(in srgb, ${one} ${percent}%, ${other})`;
}
