// The histograms of a tag, one behind another from the oldest to the newest, or all over each
// other; that of the slider's step stands out, and a click on another moves the slider there.

import uPlot from "uplot";
import { el } from "./dom.js";
import { axes } from "./plot.js";
import { binAt, nearest, ridges } from "./ridges.js";
import { number, place } from "./words.js";

const HEIGHT = 260;
const stepped = uPlot.paths.stepped({ align: 1 });

export class HistogramBody {
  static option = { text: "overlay", title: "Draw the histograms of all steps over each other" };

  constructor(card) {
    this.card = card;
    this.host = el("div", { class: "nbt-plot" });
    this.tip = el("div", { class: "nbt-tip", hidden: "", "data-role": "values" });
    this.root = this.host;
  }

  draw({ shown }, buffers, at) {
    const numbers = new Float64Array(buffers[0].buffer.slice(buffers[0].byteOffset, buffers[0].byteOffset + buffers[0].byteLength));
    const bins = (numbers.length - 1) / (shown.length + 1);
    this.edges = numbers.subarray(0, bins + 1);
    this.steps = shown.map((i) => this.card.steps[i]);
    this.counts = shown.map((_, i) => numbers.subarray(bins * (i + 1) + 1, bins * (i + 2) + 1));
    this.shown = shown;
    this.marked = shown.indexOf(at);
    this.choose();
  }

  choose() {
    if (!this.shown || !this.host.clientWidth) return;
    this.plot?.destroy();
    const { overlay, data, bases, height } = this.#layout();
    this.bases = bases;
    const options = {
      width: this.host.clientWidth,
      height: HEIGHT,
      series: [{}, ...bases.map((base, i) => this.#series(i, base))],
      scales: { x: { time: false, range: (u, min, max) => [min, max] }, y: overlay ? { range: [0, height * 1.05] } : { dir: -1, range: this.#reach(height) } },
      axes: this.#axes(overlay),
      legend: { show: false },
      cursor: { points: { show: false }, drag: { x: false, y: false } },
      padding: [6, 12, 0, 0],
      hooks: { setCursor: [(u) => this.#hover(u)] },
    };
    this.plot = new uPlot(options, data, this.host);
    this.plot.over.append(this.tip);
    this.plot.over.addEventListener("click", () => this.pointed !== undefined && this.card.move(this.shown[this.pointed]));
    this.look = JSON.stringify(this.card.board.paint());
    this.root.dataset.ridges = bases.length;
  }

  resize() {
    const width = this.host.clientWidth;
    if (!width || !this.shown) return;
    if (this.look !== JSON.stringify(this.card.board.paint())) this.choose();
    else if (this.plot.width !== width) this.plot.setSize({ width, height: HEIGHT });
  }

  clear() {
    this.plot?.destroy();
    Object.assign(this, { plot: null, shown: null });
    this.tip.hidden = true;
  }

  #layout() {
    return ridges({ edges: this.edges, counts: this.counts, steps: this.steps, overlay: this.card.page.option });
  }

  #reach(height) {
    const [first, last] = [this.steps[0], this.steps.at(-1)];
    return [first - height, last + (last - first || 1) * 0.03];
  }

  #axes(overlay) {
    const [x, y] = axes(() => this.card.board.paint(), { log: false });
    const along = { ...x, incrs: undefined, space: 56 };
    return overlay ? [along, y] : [along, { ...y, incrs: undefined, grid: { show: false } }];
  }

  #series(i, base) {
    const { colour } = this.card.board.styleOf(this.card.run);
    const { face } = this.card.board.paint();
    const overlay = this.card.page.option;
    if (i === this.marked) return { stroke: colour, width: 2, fill: `${colour}${overlay ? "40" : "b3"}`, fillTo: base, paths: stepped, points: { show: false } };
    const age = Math.round(60 + 90 * ((i + 1) / this.steps.length)).toString(16).padStart(2, "0");
    return { stroke: `${colour}${age}`, width: 1, fill: overlay ? undefined : `${face}d9`, fillTo: base, paths: stepped, points: { show: false } };
  }

  #hover(u) {
    const { left, top } = u.cursor;
    this.tip.hidden = !(left >= 0) || !this.shown;
    this.pointed = undefined;
    if (this.tip.hidden) return;
    const bin = binAt(this.edges, u.posToVal(left, "x"));
    const heights = this.bases.map((base, i) => u.valToPos(u.data[i + 1][bin], "y"));
    this.pointed = this.card.page.option ? nearest(heights, top) : nearest(this.bases.map((base, i) => (heights[i] + u.valToPos(base, "y")) / 2), top);
    const range = `${number(this.edges[bin])} to ${number(this.edges[bin + 1])}`;
    const count = number(this.counts[this.pointed][bin]);
    this.tip.replaceChildren(el("div", { class: "nbt-tip-head", text: place(this.steps[this.pointed], "step") }), el("div", { children: [el("b", { text: count }), ` from ${range}`] }));
    const right = left > u.over.clientWidth / 2;
    Object.assign(this.tip.style, right ? { left: "", right: `${u.over.clientWidth - left + 12}px` } : { left: `${left + 12}px`, right: "" });
  }
}
