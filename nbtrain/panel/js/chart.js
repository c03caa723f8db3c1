// The chart of one tag: mean line, band from lowest to highest, abandoned tails, marks.

import uPlot from "uplot";
import { bucketAt, columns, marks, stretches } from "./columns.js";
import { el } from "./dom.js";
import { describe, logTicks, tally, ticks } from "./words.js";

const WIDE = 560; // pixels from which a chart is higher
const GLYPHS = { NaN: "×", "∞": "▲", "−∞": "▼", "≤ 0": "▽" };
const MARKS_APART = 8; // pixels: a thousand NaN are a row of marks, not a smear
const WHOLE = Array.from({ length: 16 }, (_, power) => [1, 2, 2.5, 5].map((n) => n * 10 ** power)).flat().filter(Number.isInteger);

export class Chart {
  // paint: gives what to paint with, as the theme stands (theme.js); index: the tag's place.
  constructor({ tag, index, syncKey, paint }) {
    Object.assign(this, { index, syncKey, paint, log: false, hovered: false, curves: [], found: [], plot: null });
    this.name = el("span", { class: "nbt-tag", text: tag, title: tag });
    this.last = el("span", { class: "nbt-last" });
    this.legend = el("span", { class: "nbt-legend", "data-role": "legend" });
    this.toggle = el("button", { type: "button", text: "log", "aria-pressed": "false", title: "Logarithmic scale" });
    this.toggle.addEventListener("click", () => this.#toggleLog());
    this.host = el("div", { class: "nbt-plot" });
    this.dot = el("div", { class: "nbt-dot", hidden: "" });
    const head = el("div", { class: "nbt-chart-head", children: [this.name, this.last, this.legend, this.toggle] });
    this.root = el("section", { class: "nbt-chart", "data-tag": tag, "aria-label": `chart of ${tag}`, children: [head, this.host] });
    this.root.style.setProperty("--colour", this.#colour());
  }

  say(last) {
    if (last !== undefined && this.last.textContent !== last) this.last.textContent = last;
  }

  // Draw these curves; without them, those there were.
  draw(curves = this.curves) {
    this.curves = curves;
    this.found = marks(curves, { log: this.log });
    this.root.dataset.marks = this.found.length;
    this.stale = !this.host.clientWidth; // hidden: drawn when it shows
    if (!this.stale) this.#plot();
    if (!this.hovered) this.#tell();
  }

  resize() {
    const size = this.#size();
    if (!size.width) return;
    if (!this.plot || this.stale) this.draw();
    if (this.plot.width !== size.width) this.plot.setSize(size);
  }

  repaint() {
    this.root.style.setProperty("--colour", this.#colour());
    this.plot?.redraw(false, true);
  }

  destroy() {
    this.plot?.destroy();
    this.plot = null;
    this.hovered = false;
    this.dot.hidden = true;
  }

  #colour() {
    const { colours } = this.paint();
    return colours[this.index % colours.length];
  }

  #size() {
    const width = this.host.clientWidth;
    return { width, height: width > WIDE ? 240 : 180 };
  }

  // A zoom stays as it is while data comes in, also when a new tail needs a new plot.
  #plot() {
    const data = columns(this.curves, { log: this.log });
    const zoom = this.#zoom();
    if (this.plot?.series.length !== data.length) this.#build(data);
    else this.plot.setData(data, !zoom);
    if (zoom) this.plot.setScale("x", zoom);
  }

  #zoom() {
    if (!this.plot?.data[0].length) return null;
    const { min, max } = this.plot.scales.x;
    const [steps] = this.plot.data;
    return min > steps[0] || max < steps.at(-1) ? { min, max } : null;
  }

  #build(data) {
    this.destroy();
    const tails = stretches(this.curves).tails.length;
    const [highest, lowest] = [tails + 1, tails + 2];
    const tail = { stroke: () => this.paint().gone, width: 1.25, dash: [4, 3], points: { show: false } };
    const edge = { stroke: "transparent", width: 0, points: { show: false } };
    const alone = { show: (u, i) => u.data[i].reduce((n, y) => n + (y != null), 0) === 1, size: 6, fill: () => this.#colour() };
    const mean = { stroke: () => this.#colour(), width: 1.6, points: alone };
    const axis = {
      stroke: () => this.paint().text,
      grid: { stroke: () => this.paint().grid, width: 1 },
      ticks: { show: false },
      font: this.paint().font,
    };
    const options = {
      ...this.#size(),
      series: [{}, ...Array(tails).fill(tail), edge, edge, mean].map((series) => ({ ...series })),
      bands: [{ series: [highest, lowest], fill: () => this.#colour() + "33" }], // a fifth opaque
      scales: { x: { time: false }, y: { distr: this.log ? 3 : 1, range: (u, min, max) => this.#range(min, max) } },
      axes: [
        { ...axis, size: 24, gap: 6, space: 64, incrs: WHOLE, values: (u, values) => ticks(values) },
        { ...axis, size: labelWidth, gap: 6, space: 32, values: (u, values) => this.#labels(u, values) },
      ],
      legend: { show: false },
      cursor: { sync: { key: this.syncKey, scales: ["x", null] }, points: { show: false }, y: false },
      padding: [8, 16, 0, 0],
      hooks: { draw: [(u) => this.#drawMarks(u)], setCursor: [(u) => this.#hover(u)] },
    };
    this.plot = new uPlot(options, data, this.host);
    this.plot.over.append(this.dot);
  }

  // Where no value can be shown there is room for the marks all the same.
  #range(min, max) {
    if (min === null) return [0.1, 1];
    if (!this.log) return uPlot.rangeNum(min, max, 0.1, true);
    const round = (y, how, power = 10 ** Math.floor(Math.log10(y))) => how(y / power) * power;
    return [round(min * 0.99, Math.floor), round(max * 1.01, Math.ceil)]; // its lines begin there
  }

  #labels({ data: [, ...lines] }, values) {
    if (lines.every((line) => line.every((y) => y == null))) return values.map(() => "");
    return this.log ? logTicks(values) : ticks(values);
  }

  #hover(u) {
    this.hovered = u.cursor.left >= 0;
    const bucket = this.hovered ? bucketAt(this.curves, u.posToVal(u.cursor.left, "x")) : null;
    this.#tell(bucket);
    this.#point(u, bucket);
  }

  #tell(bucket) {
    this.legend.textContent = bucket ? describe(bucket) : tally(this.found);
  }

  #point(u, bucket) {
    const [left, top] = bucket ? [u.valToPos(bucket.x, "x"), u.valToPos(bucket.mean, "y")] : [];
    this.dot.hidden = !(Number.isFinite(left) && top >= 0 && top <= u.over.clientHeight);
    this.dot.classList.toggle("nbt-gone", Boolean(bucket?.abandoned));
    this.dot.style.transform = `translate(${left}px, ${top}px)`;
  }

  #drawMarks(u) {
    const { ctx, bbox } = u;
    const ratio = devicePixelRatio || 1;
    const { mark, gone } = this.paint();
    const drawn = {};
    ctx.save();
    ctx.font = `${12 * ratio}px system-ui, sans-serif`;
    ctx.textAlign = "center";
    for (const { x, kind, abandoned } of this.found) {
      const left = u.valToPos(x, "x", true);
      const near = left - (drawn[kind + abandoned] ?? -Infinity) < MARKS_APART * ratio;
      if (near || left < bbox.left - 1 || left > bbox.left + bbox.width + 1) continue;
      drawn[kind + abandoned] = left;
      ctx.fillStyle = abandoned ? gone : mark;
      ctx.fillText(GLYPHS[kind], left, bbox.top + (kind === "∞" ? 11 * ratio : bbox.height - 4 * ratio));
    }
    ctx.restore();
  }

  #toggleLog() {
    this.log = !this.log;
    this.toggle.setAttribute("aria-pressed", String(this.log));
    const zoom = this.#zoom();
    this.destroy();
    this.draw();
    if (zoom) this.plot?.setScale("x", zoom);
  }
}

// Of a size that keeps neighbouring charts aligned, unless a label needs more.
function labelWidth(u, values) {
  return Math.max(50, 8 + 6.5 * Math.max(0, ...(values ?? []).map((text) => text.length)));
}
