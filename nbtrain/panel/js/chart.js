// The chart of one tag: mean line, band from lowest to highest, abandoned tails, marks.

import uPlot from "uplot";
import { bucketAt, columns, marks, stretches } from "./columns.js";
import { el } from "./dom.js";
import { MarksStrip, STRIP } from "./marks_strip.js";
import { axes, besidePointer, drawMarks, moveByKey, yScale } from "./plot.js";
import { describe, tally } from "./words.js";

const WIDE = 560; // pixels from which a chart is higher

export class Chart {
  // paint: gives what to paint with, as the theme stands (theme.js); index: the tag's place;
  // open: called with marks that somebody asks about, and where: an element, and the place in it.
  constructor({ tag, index, syncKey, paint, open }) {
    Object.assign(this, { index, syncKey, paint, open, log: false, hovered: false, curves: [], found: [], plot: null });
    this.name = el("span", { class: "nbt-tag", text: tag, title: tag });
    this.last = el("span", { class: "nbt-last" });
    this.legend = el("span", { class: "nbt-legend", "data-role": "legend" });
    this.toggle = el("button", { type: "button", text: "log", "aria-pressed": "false", title: "Logarithmic scale" });
    this.toggle.addEventListener("click", () => this.#toggleLog());
    this.strip = new MarksStrip(paint);
    const label = `chart of ${tag}: the arrow keys read values and stop at marks, Enter tells what can be done about one`;
    this.host = el("div", { class: "nbt-plot", tabindex: 0, role: "group", "aria-label": label });
    this.host.addEventListener("keydown", (event) => this.#key(event));
    this.host.addEventListener("blur", (event) => this.#leave(event));
    this.dot = el("div", { class: "nbt-dot", hidden: "" });
    const head = el("div", { class: "nbt-chart-head", children: [this.name, this.last, this.legend, this.toggle] });
    this.root = el("section", { class: "nbt-chart", "data-tag": tag, children: [head, this.host] });
    this.root.style.setProperty("--colour", this.#colour());
  }

  say(last) {
    if (last !== undefined && this.last.textContent !== last) this.last.textContent = last;
  }

  // Draw these curves, and what was done, see `timeline`; without them, those there were.
  draw(curves = this.curves, done = this.strip.marks) {
    this.curves = curves;
    this.strip.marks = done;
    this.root.dataset.timeline = done.length;
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
    const { kept, tails } = stretches(this.curves);
    if (this.plot?.series.length !== data.length) this.#build(data, tails.length, !kept.length);
    else {
      this.plot.series.slice(1, 1 + tails.length).forEach((tail) => (tail.auto = !kept.length));
      this.plot.setData(data, !zoom);
    }
    if (zoom) this.plot.setScale("x", zoom);
  }

  #zoom() {
    if (!this.plot?.data[0].length) return null;
    const { min, max } = this.plot.scales.x;
    const [steps] = this.plot.data;
    return min > steps[0] || max < steps.at(-1) ? { min, max } : null;
  }

  // tails: how many there are. auto: whether the scale is theirs: what counts would be a flat line
  // below a tail that has gone bad.
  #build(data, tails, auto) {
    this.destroy();
    const [highest, lowest] = [tails + 1, tails + 2];
    const tail = { auto, stroke: () => this.paint().gone, width: 1.25, dash: [4, 3], points: { show: false } };
    const edge = { stroke: "transparent", width: 0, points: { show: false } };
    const alone = { show: (u, i) => u.data[i].reduce((n, y) => n + (y != null), 0) === 1, size: 6, fill: () => this.#colour() };
    const mean = { stroke: () => this.#colour(), width: 1.6, points: alone };
    const options = {
      ...this.#size(),
      series: [{}, ...Array(tails).fill(tail), edge, edge, mean].map((series) => ({ ...series })),
      bands: [{ series: [highest, lowest], fill: () => this.#colour() + "33" }], // a fifth opaque
      scales: { x: { time: false }, y: yScale(this.log) },
      axes: axes(this.paint, { log: this.log }),
      legend: { show: false },
      cursor: { sync: { key: this.syncKey, scales: ["x", null] }, points: { show: false }, y: false },
      padding: [STRIP, 16, 0, 0],
      hooks: { draw: [(u) => this.strip.draw(u), (u) => drawMarks(u, this.found, this.paint())], setCursor: [(u) => this.#hover(u)] },
    };
    this.plot = new uPlot(options, data, this.host);
    const { over } = this.plot;
    over.append(this.dot, this.strip.strip, this.strip.tip);
    let from = 0; // a drag ends in a click, too
    over.addEventListener("mousedown", ({ clientX }) => (from = clientX));
    over.addEventListener("click", ({ clientX }) => Math.abs(clientX - from) < 4 && this.#ask(clientX - over.getBoundingClientRect().left));
  }

  #hover(u) {
    this.hovered = u.cursor.left >= 0;
    const bucket = this.hovered ? bucketAt(this.curves, u.posToVal(u.cursor.left, "x")) : null;
    this.#tell(bucket);
    this.#point(u, bucket);
    const meant = this.hovered && this.#isMine(u) ? this.strip.at(u.cursor.left) : undefined;
    u.over.style.cursor = meant ? "pointer" : "";
    this.strip.tell(meant?.marks);
    if (meant) besidePointer(this.strip.tip, u);
  }

  // The other charts of the panel move their cursors too.
  #isMine(u) {
    return u.over.matches(":hover") || this.host.contains(document.activeElement);
  }

  #key(event) {
    const u = this.plot;
    if (!u || event.target !== this.host) return;
    const { left } = u.cursor;
    if (event.key === "Enter") this.#ask(left);
    else if (!moveByKey(u, event)) return;
    else if (left >= 0 && !event.shiftKey) this.#stop(u, this.strip.between(left, u.cursor.left));
    event.preventDefault();
    event.stopPropagation(); // not a command of the notebook's
  }

  #stop(u, mark) {
    if (mark) u.setCursor({ left: mark.left, top: u.over.clientHeight / 2 });
  }

  #ask(left) {
    const meant = this.strip.at(left);
    if (meant) this.open(meant.marks, this.host, meant.left + this.plot.over.offsetLeft);
  }

  // What opens beside a mark gives the focus back: the place is kept for that.
  #leave({ relatedTarget }) {
    if (!relatedTarget?.closest(".nbt-pop")) this.plot?.setCursor({ left: -10, top: -10 });
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

  #toggleLog() {
    this.log = !this.log;
    this.toggle.setAttribute("aria-pressed", String(this.log));
    const zoom = this.#zoom();
    this.destroy();
    this.draw();
    if (zoom) this.plot?.setScale("x", zoom);
  }
}
