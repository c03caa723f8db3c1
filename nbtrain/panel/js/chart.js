// The chart of one tag: mean line, band from lowest to highest, abandoned tails, marks.

import uPlot from "uplot";
import { PER_SEGMENT, bucketAt, columns, describe, marks } from "./columns.js";
import { el } from "./dom.js";
import * as theme from "./theme.js";

const HEIGHT = 190;
const PIXELS = () => devicePixelRatio || 1;

export class Chart {
  constructor(tag, index, syncKey) {
    this.index = index;
    this.syncKey = syncKey;
    this.log = false;
    this.zoomed = false;
    this.curves = [];
    this.plot = null;
    this.last = el("span", { class: "nbt-last" });
    this.legend = el("span", { class: "nbt-legend", "data-role": "legend" });
    this.toggle = el("button", { text: "log", "aria-pressed": "false", title: "logarithmic scale" });
    this.toggle.addEventListener("click", () => this.#toggleLog());
    this.host = el("div", { class: "nbt-plot" });
    const name = el("span", { class: "nbt-tag", text: tag, title: tag });
    name.style.setProperty("--colour", theme.colour(index));
    this.name = name;
    const head = el("div", { class: "nbt-chart-head", children: [name, this.last, this.legend, this.toggle] });
    this.root = el("section", { class: "nbt-chart", "data-tag": tag, "aria-label": `chart of ${tag}`, children: [head, this.host] });
  }

  draw(curves, last) {
    this.curves = curves;
    this.last.textContent = last ?? "";
    const found = marks(curves);
    this.root.dataset.marks = found.length;
    this.found = found;
    if (!this.root.isConnected || !this.host.clientWidth) return;
    if (!this.plot || this.plot.series.length !== 1 + PER_SEGMENT * curves.length) this.#build();
    else this.#setData();
    if (!this.hovered) this.legend.textContent = found.length ? `${found.length} not finite` : "";
  }

  resize() {
    const width = this.host.clientWidth;
    if (!width) return;
    if (!this.plot) this.draw(this.curves, this.last.textContent);
    else if (this.plot.width !== width) this.plot.setSize({ width, height: HEIGHT });
  }

  repaint() {
    this.name.style.setProperty("--colour", theme.colour(this.index));
    this.plot?.redraw(false, true);
  }

  destroy() {
    this.plot?.destroy();
    this.plot = null;
  }

  #setData() {
    const data = columns(this.curves, { log: this.log });
    if (!this.zoomed) {
      this.plot.setData(data);
      return;
    }
    const { min, max } = this.plot.scales.x;
    this.plot.setData(data, false);
    this.plot.setScale("x", { min, max });
  }

  #build() {
    this.destroy();
    const series = [{}];
    const bands = [];
    this.curves.forEach((_, segment) => {
      const first = 1 + PER_SEGMENT * segment;
      const hidden = { stroke: "transparent", width: 0, points: { show: false } };
      const alone = { show: (u, i) => u.data[i].filter((y) => y != null).length === 1 };
      series.push({ stroke: () => theme.colour(this.index), width: 1.6, points: alone }, hidden, hidden);
      series.push({ stroke: () => theme.grey(), width: 1.2, dash: [4, 3], points: { show: false } });
      bands.push({ series: [first + 1, first + 2], fill: () => theme.faint(this.index) });
    });
    const axis = { stroke: theme.text, grid: { stroke: theme.grid, width: 1 }, ticks: { stroke: theme.grid, size: 4 }, font: "11px system-ui, sans-serif" };
    const options = {
      width: this.host.clientWidth,
      height: HEIGHT,
      series,
      bands,
      scales: { x: { time: false }, y: { distr: this.log ? 3 : 1 } },
      axes: [{ ...axis, size: 30 }, { ...axis, size: 54 }],
      legend: { show: false },
      cursor: { sync: { key: this.syncKey, scales: ["x", null] }, points: { show: false }, y: false, drag: { x: true, y: false } },
      padding: [8, 18, 0, 0],
      hooks: {
        draw: [(u) => this.#drawMarks(u)],
        setCursor: [(u) => this.#hover(u)],
        setSelect: [(u) => (this.zoomed = this.zoomed || u.select.width > 0)],
      },
    };
    this.plot = new uPlot(options, columns(this.curves, { log: this.log }), this.host);
    this.plot.over.addEventListener("dblclick", () => (this.zoomed = false));
  }

  #hover(u) {
    const { left } = u.cursor;
    this.hovered = left >= 0;
    if (this.hovered) this.legend.textContent = describe(bucketAt(this.curves, u.posToVal(left, "x")));
  }

  #drawMarks(u) {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.fillStyle = theme.red();
    ctx.font = `${13 * PIXELS()}px system-ui, sans-serif`;
    ctx.textAlign = "center";
    for (const { x, sign } of this.found ?? []) {
      const at = u.valToPos(x, "x", true);
      if (at < bbox.left - 1 || at > bbox.left + bbox.width + 1) continue;
      ctx.fillText(sign, at, sign === "▲" ? bbox.top + 12 * PIXELS() : bbox.top + bbox.height - 3 * PIXELS());
    }
    ctx.restore();
  }

  #toggleLog() {
    this.log = !this.log;
    this.toggle.setAttribute("aria-pressed", String(this.log));
    this.#build();
  }
}
