// The percentiles of a tag's histograms over the steps: bands about the median.

import uPlot from "uplot";
import { el } from "./dom.js";
import { axes, yScale } from "./plot.js";
import { nearest } from "./ridges.js";
import { number, place } from "./words.js";

const HEIGHT = 220;
const NAMES = ["0", "6.68", "15.87", "30.85", "50", "69.15", "84.13", "93.32", "100"];
const MEDIAN = 4;
const OPAQUE = ["1f", "33", "4d", "66"]; // of the bands, from the widest to the narrowest

export class DistributionBody {
  static several = true; // of all steps at once: it needs no slider

  constructor(card) {
    this.card = card;
    this.host = el("div", { class: "nbt-plot" });
    this.tip = el("div", { class: "nbt-tip", hidden: "", "data-role": "values" });
    this.root = this.host;
  }

  draw({ shown }, buffers) {
    const rows = new Float64Array(buffers[0].buffer.slice(buffers[0].byteOffset, buffers[0].byteOffset + buffers[0].byteLength));
    const column = (i) => shown.map((_, row) => rows[row * NAMES.length + i]).map((y) => (Number.isFinite(y) ? y : null));
    this.data = [shown.map((i) => this.card.steps[i]), ...NAMES.map((_, i) => column(i))];
    this.#build();
  }

  resize() {
    const width = this.host.clientWidth;
    if (!width || !this.data) return;
    if (this.look !== JSON.stringify(this.card.board.paint())) this.#build();
    else if (this.plot.width !== width) this.plot.setSize({ width, height: HEIGHT });
  }

  clear() {
    this.plot?.destroy();
    Object.assign(this, { plot: null, data: null });
    this.tip.hidden = true;
  }

  #build() {
    if (!this.host.clientWidth) return;
    this.plot?.destroy();
    const { board, run } = this.card;
    const { colour } = board.styleOf(run);
    const one = this.data[0].length === 1;
    const line = (i) => ({ stroke: i === MEDIAN ? colour : `${colour}66`, width: i === MEDIAN ? 1.8 : 0.75, points: { show: one, size: 5, fill: colour } });
    const options = {
      width: this.host.clientWidth,
      height: HEIGHT,
      series: [{}, ...NAMES.map((_, i) => line(i))],
      bands: OPAQUE.map((part, i) => ({ series: [NAMES.length - i, i + 1], fill: `${colour}${part}` })),
      scales: { x: { time: false, range: (u, min, max) => (min === max ? [min - 1, max + 1] : [min, max]) }, y: yScale(false) },
      axes: axes(() => board.paint(), { log: false }),
      legend: { show: false },
      cursor: { points: { show: false }, y: false, drag: { x: false, y: false } },
      padding: [8, 16, 0, 0],
      hooks: { setCursor: [(u) => this.#hover(u)] },
    };
    this.plot = new uPlot(options, this.data, this.host);
    this.plot.over.append(this.tip);
    this.look = JSON.stringify(board.paint());
  }

  #hover(u) {
    const { left } = u.cursor;
    this.tip.hidden = !(left >= 0) || !this.data;
    if (this.tip.hidden) return;
    const [steps, ...columns] = this.data;
    const at = nearest(steps, u.posToVal(left, "x"));
    const rows = columns.map((column, i) => el("div", { class: "nbt-tip-row", children: [el("span", { class: "nbt-soft nbt-percent", text: `${NAMES[i]} %` }), el(i === MEDIAN ? "b" : "span", { text: column[at] === null ? "" : number(column[at]) })] }));
    this.tip.replaceChildren(el("div", { class: "nbt-tip-head", text: place(steps[at], "step") }), ...rows.reverse());
    const right = left > u.over.clientWidth / 2;
    Object.assign(this.tip.style, right ? { left: "", right: `${u.over.clientWidth - left + 12}px` } : { left: `${left + 12}px`, right: "" });
  }
}
