// The chart of one tag over several runs: lines, hover, zoom, table, downloads.

import uPlot from "uplot";
import { el, say } from "../../shared/dom.js";
import { download, picture } from "../download.js";
import { isolated, overlay, overlayMarks, valuesAt } from "./overlay.js";
import { BaseChart } from "../../shared/base_chart.js";
import { axes, drawMarks, yScale } from "../../shared/plot.js";
import { runTable } from "./run_table.js";
import { number, place, tally } from "../../shared/format.js";

/** @import { ChartBoard, Range, RunCurve } from "../../types.d.ts" */
/** @import { Latest } from "../latest.js" */

const TOLD = 12; // runs that the hover names, those nearest to the pointer
const FAINT = "59"; // of the raw line behind the smoothed one: a third opaque
const BACK = 0.15; // the opacity of a line that stands back
const EDITED = "hyperparameters/"; // as the tags begin of what has one value until the next edit

export class OverlayChart extends BaseChart {
  get height() {
    return 190;
  }

  /**
   * board: {paint(), styleOf(run), options: see options.js, keep(), wanted(chart), csv(chart)}.
   * @param {string} tag
   * @param {ChartBoard} board
   */
  constructor(tag, board) {
    super(
      `chart of ${tag}: the arrow keys, Home and End read values, plus and minus zoom, Escape shows everything`,
    );
    const { zooms, logs } = board.options;
    this.tag = tag;
    this.board = board;
    /** @type {Latest | null} */
    this.latest = null; // see charts.js
    this.curves = [];
    this.zoom = zooms.get(tag) ?? null;
    this.log = logs.has(tag);
    this.found = [];
    this.lines = [];
    this.legend = el("span", { class: "nbt-legend", "data-role": "legend" });
    this.leftOut = el("span", { class: "nbt-soft", "data-role": "left-out" });
    const name = el("span", { class: "nbt-tag", text: tag, title: tag });
    const buttons = [
      this.#button("log", "Logarithmic scale", () => this.#toggleLog(), String(this.log)),
      this.#button(
        "table",
        "Last, lowest, highest and best value of every run",
        () => this.#toggleTable(),
        "false",
      ),
      this.#button("CSV", "Download the points in sight", () => board.csv(this)),
      this.#button("PNG", "Download the picture", () => this.#save()),
    ];
    const head = el("div", {
      class: "nbt-chart-head",
      children: [name, this.legend, this.leftOut, ...buttons],
    });
    this.problem = el("div", { class: "nbt-problem", role: "status", hidden: "" });
    this.table = el("div", { class: "nbt-table", hidden: "", "data-role": "table" });
    this.root = el("section", {
      class: "nbt-chart",
      "data-tag": tag,
      children: [head, this.host, this.problem, this.table],
    });
    this.root.toggleAttribute("data-zoomed", this.zoom !== null);
  }

  /**
   * Draw these curves; without them, those there were.
   * @param {RunCurve[]} [curves]
   */
  draw(curves = this.curves) {
    this.curves = curves;
    if (!this.hasRoom()) return;
    const { smooth } = this.board.options;
    this.found = overlayMarks(curves, { log: this.log });
    const { data, lines } = overlay(curves, { log: this.log, smooth: smooth > 0 });
    const kept =
      lines.length === this.lines.length &&
      lines.every(({ kind, run }, i) => kind === this.lines[i].kind && run === this.lines[i].run);
    this.lines = lines;
    if (this.plot && kept && this.drawn === this.look) this.plot.setData(/** @type {any} */ (data));
    else this.#build(data);
    Object.assign(this.root.dataset, {
      marks: this.found.length,
      points: curves.reduce((n, { x }) => n + x.length, 0),
      stride: Math.max(0, ...curves.map(({ stride }) => stride)),
    });
    const leftOut = curves.reduce((n, curve) => n + (curve.leftOut ?? 0), 0);
    this.legend.textContent = tally(this.found);
    this.leftOut.textContent = leftOut ? `${leftOut} with no place on the x axis` : "";
    if (!this.table.hidden) this.#fillTable();
  }

  /** @param {string} problem */
  say(problem) {
    say(this.problem, problem);
  }

  resize() {
    if (this.plot || this.curves.length) super.resize();
  }

  /**
   * Let one run stand out; null ends that.
   * @param {string | null} run
   */
  emphasize(run) {
    this.dim((line) => run !== null && line.run !== run);
  }

  // Let the lines stand back that are not meant.
  dim(isBack) {
    if (!this.plot) return;
    this.lines.forEach((line, i) => (this.plot.series[i + 1].alpha = isBack(line) ? BACK : 1));
    this.plot.redraw(false);
  }

  /**
   * Show a range of the axis, {min, max}, or everything: what there is now, finer when it comes.
   * @param {Range | null} zoom
   */
  show(zoom) {
    this.#zoomTo(zoom);
    if (zoom) this.plot?.setScale("x", zoom);
    else this.draw();
    this.board.keep();
    this.board.wanted(this);
  }

  // The axis is another: what was drawn has no place on it.
  forget() {
    this.#zoomTo(null);
    this.curves = [];
  }

  /** @param {Range | null} zoom */
  #zoomTo(zoom) {
    this.zoom = zoom;
    this.root.toggleAttribute("data-zoomed", zoom !== null);
    if (zoom) this.board.options.zooms.set(this.tag, zoom);
    else this.board.options.zooms.delete(this.tag);
  }

  /** @param {any[]} data */
  #build(data) {
    const { x, logX, smooth } = this.board.options;
    const bands = this.lines.flatMap(({ kind, run }, i) =>
      kind === "hi" ? [{ series: [i + 1, i + 2], fill: () => `${this.#style(run).colour}33` }] : [],
    );
    this.build(data, {
      series: [{}, ...this.lines.map((line) => this.#series(line, smooth > 0))],
      bands,
      scales: {
        x: {
          time: x === "wall",
          distr: logX ? 3 : 1,
          range: (u, min, max) => this.#range(min, max),
        },
        y: yScale(this.log),
      },
      axes: axes(this.board.paint, { log: this.log, x, logX }),
      cursor: {
        points: { show: false },
        y: false,
        drag: { x: true, y: false, setScale: false },
        bind: { dblclick: () => () => this.show(null) },
      },
      padding: [8, 16, 0, 0],
      hooks: {
        draw: [(u) => drawMarks(u, this.found, this.board.paint())],
        setSelect: [(u) => this.#select(u)],
      },
    });
  }

  get look() {
    const { x, logX } = this.board.options;
    return JSON.stringify([x, logX, this.board.paint(), this.log]);
  }

  #style(run) {
    return this.board.styleOf(run);
  }

  #series({ kind, run }, smooth) {
    const { colour, dash } = this.#style(run);
    const alone = { show: true, filter: (u, i) => isolated(u.data[i]), size: 5, fill: colour };
    if (kind === "hi" || kind === "lo")
      return { stroke: "transparent", width: 0, points: { show: false } };
    const auto = this.lines.every(({ kind }) => kind === "tail"); // the scale is that of what counts
    const how =
      this.tag.startsWith(EDITED) && !(smooth && kind === "line")
        ? { paths: uPlot.paths.stepped({ align: 1 }) }
        : {};
    if (kind === "tail")
      return {
        ...how,
        auto,
        stroke: () => this.board.paint().gone,
        width: 1.25,
        dash: [4, 3],
        points: { show: false },
      };
    if (kind === "raw")
      return { ...how, stroke: colour + FAINT, width: 1, points: { show: false } };
    return { ...how, stroke: colour, width: smooth ? 1.9 : 1.6, dash, points: alone };
  }

  #range(min, max) {
    if (this.zoom) return [this.zoom.min, this.zoom.max];
    const log = this.board.options.logX;
    if (min === null) return log ? [1, 10] : [0, 1];
    if (min < max) return [min, max];
    return log ? [min / 2, max * 2] : [min - 1, max + 1];
  }

  /** @param {uPlot} u */
  #select(u) {
    const { left, width } = u.select;
    if (width < 4) return;
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.show({ min: u.posToVal(left, "x"), max: u.posToVal(left + width, "x") });
  }

  told(u) {
    if (!this.curves.length) return [];
    const { left, top } = u.cursor;
    const { x: axis, smooth } = this.board.options;
    const x = u.posToVal(left, "x");
    let told = valuesAt(this.curves, x, { smooth: smooth > 0 });
    const more = told.length - TOLD;
    const distance = ({ value }) =>
      Number.isFinite(value) ? Math.abs(u.valToPos(value, "y") - top) : Infinity;
    const near = [...told].sort((one, other) => distance(one) - distance(other));
    if (more > 0) told = told.filter((each) => near.indexOf(each) < TOLD);
    const at = nearestTo(told, x);
    const rows = told.map((each) =>
      this.#row(each, { at, axis, nearest: each === near[0] && told.length > 1 }),
    );
    const title = el("div", {
      class: "nbt-tip-head",
      text: at === undefined ? "" : place(at, axis),
    });
    const rest = more > 0 ? [el("div", { class: "nbt-soft", text: `and ${more} more` })] : [];
    return [title, ...rows, ...rest];
  }

  #row({ run, x, mean, lo, hi, stride, margin, kind, value }, { at, axis, nearest }) {
    const { smooth } = this.board.options;
    const main = kind ?? number(value);
    const raw = smooth > 0 && !kind ? `raw ${number(mean)}` : "";
    const band =
      !raw && !kind && (stride > 1 || margin) && lo < hi ? `${number(lo)} to ${number(hi)}` : "";
    const where = place(x, axis) === place(at, axis) ? "" : `at ${place(x, axis)}`;
    const words = [raw || band, where].filter(Boolean).join(", ");
    const children = [
      this.board.swatch(run),
      el("span", { class: "nbt-tip-run", text: run }),
      el("b", { text: main }),
      el("span", { class: "nbt-soft", text: words }),
    ];
    return el("div", { class: nearest ? "nbt-tip-row nbt-nearest" : "nbt-tip-row", children });
  }

  /**
   * @param {uPlot} u
   * @param {KeyboardEvent} event
   */
  press(u, event) {
    const width = u.over.clientWidth;
    const left = u.cursor.left >= 0 ? u.cursor.left : width / 2;
    if (event.key === "+" || event.key === "=" || event.key === "-") {
      this.#zoomAt(left / width, event.key === "-" ? 2 : 0.5);
    } else if (event.key === "Escape" && this.zoom) {
      this.show(null);
    } else return super.press(u, event);
    return true;
  }

  #zoomAt(part, factor) {
    const [to, from] = this.board.options.logX ? [Math.log, Math.exp] : [Number, Number];
    const [min, max] = [to(this.plot.scales.x.min), to(this.plot.scales.x.max)];
    const size = (max - min) * factor;
    const begin = min + (max - min) * part - size * part;
    this.show({ min: from(begin), max: from(begin + size) });
  }

  #toggleLog() {
    this.log = !this.log;
    if (this.log) this.board.options.logs.add(this.tag);
    else this.board.options.logs.delete(this.tag);
    this.board.keep();
    this.root.querySelector("[data-act=log]").setAttribute("aria-pressed", String(this.log));
    this.draw();
  }

  #toggleTable() {
    this.table.hidden = !this.table.hidden;
    this.root
      .querySelector("[data-act=table]")
      .setAttribute("aria-pressed", String(!this.table.hidden));
    this.#fillTable();
  }

  #fillTable() {
    this.table.replaceChildren(runTable(this.curves, (run) => this.board.swatch(run)));
  }

  #save() {
    if (!this.plot) return;
    const legend = this.curves.map(({ run }) => ({ run, ...this.#style(run) }));
    picture(this.plot.ctx.canvas, { title: this.tag, legend, paint: this.board.paint() }, (blob) =>
      download(blob, this.tag, ".png"),
    );
  }

  #button(text, title, act, pressed) {
    const button = el("button", {
      type: "button",
      text,
      title,
      "data-act": text,
      ...(pressed ? { "aria-pressed": pressed } : {}),
    });
    button.addEventListener("click", act);
    return button;
  }
}

function nearestTo(told, x) {
  let best;
  for (const each of told)
    if (best === undefined || Math.abs(each.x - x) < Math.abs(best - x)) best = each.x;
  return best;
}
