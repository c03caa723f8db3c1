// The chart of one tag for several runs: lines, hover, zoom, table, downloads.

import { button, el, partOf, say } from "../../shared/dom.js";
import { download, picture } from "../download.js";
import { fullScreen } from "../full_screen.js";
import { marks } from "../../shared/buckets.js";
import { overlay } from "./overlay.js";
import { BaseChart } from "../../shared/base_chart.js";
import { Outliers } from "../../shared/outliers.js";
import { Pin } from "../../shared/pin.js";
import { axes, cursorOf, drawMarks, rangeOf, xScale, yScale } from "../../shared/plot.js";
import { runsInWords, runTable } from "./run_table.js";
import { bandsOf, seriesOf } from "./series.js";
import { tally } from "../../shared/format.js";
import { tip } from "./tip.js";
import { named } from "../../shared/name.js";

/** @import uPlot from "uplot" */
/** @import { Want } from "../../protocol.d.ts" */
/** @import { Latest } from "../latest.js" */
/** @import { UnseenBucket } from "../../shared/buckets.js" */
/** @import { Columns } from "../../shared/columns.js" */
/** @import { Board } from "../board.js" */
/** @import { Range } from "../options.js" */
/** @import { ChartLine, RunCurve } from "./overlay.js" */

/**
 * The part of the board that a chart of several runs uses.
 * @typedef {Pick<Board, "options" | "saveOptions" | "paint" | "styleOf" | "swatch" | "leaderOf" | "nameOf">} ChartBoard
 */

/**
 * The source of a chart's curves.
 * @typedef {object} CurveSource
 * @property {(tag: string) => void} [pin]
 *   pins or unpins a tag; missing if the charts have fixed places
 * @property {(chart: OverlayChart) => unknown} update
 * @property {(chart: OverlayChart) => unknown} csv
 * @property {(chart: OverlayChart) => unknown} svg
 */

const TABLE = "Last, lowest, highest and best value of each run";
const BACK = 0.15; // the opacity of a line that is not highlighted

export class OverlayChart extends BaseChart {
  get height() {
    return 190;
  }
  /** @type {Latest | null} */
  latest = null; // see scalars_page.js
  /** @type {RunCurve[]} */
  curves = [];
  /** @type {UnseenBucket[]} */
  found = [];
  /** @type {ChartLine[]} */
  lines = [];
  legend = el("span", { class: "nbt-legend", "data-role": "legend" });
  leftOut = el("span", { class: "nbt-soft", "data-role": "left-out" });
  problem = el("div", { class: "nbt-problem", role: "status", hidden: "" });
  table = el("div", { class: "nbt-table", hidden: "", "data-role": "table" });

  /**
   * @param {string} tag
   * @param {ChartBoard} board
   * @param {CurveSource} source
   */
  constructor(tag, board, source) {
    super(
      `chart of ${tag}: the arrow keys, Home and End read values, plus and minus zoom, Escape shows everything`,
    );
    const { zooms, logs, outliers } = board.options;
    this.tag = tag;
    this.board = board;
    this.source = source;
    this.zoom = zooms.get(tag) ?? null;
    this.log = logs.has(tag);
    const name = named(tag, { class: "nbt-tag" });
    this.pin = new Pin(tag, () => source.pin?.(tag));
    this.outliers = new Outliers(tag, () => this.#toggleOutliers());
    this.outliers.show(outliers.has(tag));
    const buttons = [
      this.outliers.root,
      ...(source.pin ? [this.pin.root] : []),
      tool("log", "Logarithmic scale", () => this.#toggleLog(), this.log),
      tool("table", TABLE, () => this.#toggleTable(), false),
      tool("CSV", "Download the visible points", () => source.csv(this)),
      tool("PNG", "Download the chart as an image", () => this.#save()),
      tool("SVG", "Download the chart as a drawing", () => source.svg(this)),
      fullScreen(tag, this),
    ];
    const tools = el("span", { class: "nbt-chart-tools", children: buttons });
    const head = el("div", {
      class: "nbt-chart-head",
      children: [name, this.legend, this.leftOut, tools],
    });
    /** @type {HTMLElement} */
    this.root = el("section", {
      class: "nbt-chart",
      "data-tag": tag,
      children: [head, this.host, this.problem, this.table],
    });
    this.root.toggleAttribute("data-zoomed", this.zoom !== null);
  }

  /**
   * Draws curves; by default the current ones again.
   * @param {RunCurve[]} [curves]
   */
  draw(curves = this.curves) {
    this.curves = curves;
    this.host.setAttribute("aria-description", runsInWords(curves, this.board));
    if (!this.hasRoom()) return;
    const { smooth } = this.board.options;
    this.found = marks(curves, { log: this.log });
    const { data, lines } = overlay(curves, { log: this.log, smooth: smooth > 0 });
    const kept =
      lines.length === this.lines.length &&
      lines.every(({ kind, run }, i) => kind === this.lines[i].kind && run === this.lines[i].run);
    this.lines = lines;
    if (this.plot && kept && this.drawn === this.look) this.plot.setData(data);
    else this.#build(data);
    Object.assign(this.root.dataset, {
      marks: this.found.length,
      points: curves.reduce((n, { x }) => n + x.length, 0),
      stride: Math.max(0, ...curves.map(({ stride }) => stride)),
    });
    const leftOut = curves.reduce((n, curve) => n + (curve.leftOut ?? 0), 0);
    this.legend.textContent = tally(this.found);
    this.leftOut.textContent = leftOut ? `${leftOut} not on this x axis` : "";
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
   * The request for a tag's curves as this chart shows them; runs: null for all that have the tag.
   * @param {string} tag
   * @param {string[] | null} runs
   * @returns {Want}
   */
  wantOf(tag, runs) {
    const { x, logX, smooth } = this.board.options;
    const range = this.zoom && /** @type {Want["range"]} */ ([this.zoom.min, this.zoom.max]);
    return { tag, x, log_x: logX, smooth, range, runs };
  }

  /**
   * Highlights the runs of a fit, given by its leader; null ends that.
   * @param {string | null} run
   */
  highlight(run) {
    const { plot } = this;
    if (!plot) return;
    this.lines.forEach((line, i) => {
      const back = run !== null && this.board.leaderOf(line.run) !== run;
      const { alpha = 1 } = this.board.styleOf(line.run);
      plot.series[i + 1].alpha = back ? BACK : alpha;
    });
    plot.redraw(false);
  }

  /**
   * Shows a range of the axis, or everything for null: at once with the known points, and in detail once
   * more points arrive.
   * @param {Range | null} zoom
   */
  show(zoom) {
    this.#zoomTo(zoom);
    if (zoom) this.plot?.setScale("x", zoom);
    else this.draw();
    this.board.saveOptions();
    this.source.update(this);
  }

  // Called after the axis has changed: the drawn curves are invalid and are requested again, even if the
  // axis is changed back before the chart is visible.
  axisChanged() {
    this.#zoomTo(null);
    this.curves = [];
    this.latest = null;
  }

  /** @param {Range | null} zoom */
  #zoomTo(zoom) {
    this.zoom = zoom;
    this.root.toggleAttribute("data-zoomed", zoom !== null);
    if (zoom) this.board.options.zooms.set(this.tag, zoom);
    else this.board.options.zooms.delete(this.tag);
  }

  /** @param {Columns} data */
  #build(data) {
    const { x, logX } = this.board.options;
    this.build(data, {
      series: seriesOf(this.lines, this.tag, this.board),
      bands: bandsOf(this.lines, this.board),
      scales: { x: xScale(logX, x, () => this.zoom), y: yScale(this.log, this.outliers) },
      axes: axes(this.board.paint, { log: this.log, x, logX }),
      cursor: {
        points: { show: false },
        y: false,
        drag: { x: true, y: false, setScale: false },
        bind: { dblclick: () => () => (this.show(null), null) },
      },
      padding: [8, 16, 0, 0],
      hooks: {
        draw: [
          (u) => drawMarks(u, [...this.found, ...this.outliers.beyond(u)], this.board.paint()),
        ],
        setSelect: [(u) => this.#select(u)],
      },
    });
  }

  get look() {
    const { x, logX } = this.board.options;
    return JSON.stringify([x, logX, this.board.paint(), this.log]);
  }

  /** @param {uPlot} u */
  #select(u) {
    const { left, width } = u.select;
    if (width < 4) return;
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.show({ min: u.posToVal(left, "x"), max: u.posToVal(left + width, "x") });
  }

  /** @param {uPlot} u */
  tipNodes(u) {
    return this.curves.length ? tip(u, this.curves, this.board) : [];
  }

  /**
   * @param {uPlot} u
   * @param {KeyboardEvent} event
   */
  press(u, event) {
    const width = u.over.clientWidth;
    const cursor = cursorOf(u);
    const left = cursor.left >= 0 ? cursor.left : width / 2;
    if (event.key === "+" || event.key === "=" || event.key === "-") {
      this.#zoomAt(u, left / width, event.key === "-" ? 2 : 0.5);
    } else if (event.key === "Escape" && this.zoom) {
      this.show(null);
    } else return super.press(u, event);
    return true;
  }

  /**
   * @param {uPlot} u
   * @param {number} part of the width
   * @param {number} factor
   */
  #zoomAt(u, part, factor) {
    const [to, from] = this.board.options.logX ? [Math.log, Math.exp] : [Number, Number];
    const shown = rangeOf(u);
    const [min, max] = [to(shown.min), to(shown.max)];
    const size = (max - min) * factor;
    const begin = min + (max - min) * part - size * part;
    this.show({ min: from(begin), max: from(begin + size) });
  }

  #toggleOutliers() {
    this.outliers.show(!this.outliers.all);
    this.#keep("outliers", this.outliers.all);
    this.draw();
  }

  /**
   * Keeps a choice for this tag.
   * @param {"logs" | "outliers"} option
   * @param {boolean} chosen
   */
  #keep(option, chosen) {
    if (chosen) this.board.options[option].add(this.tag);
    else this.board.options[option].delete(this.tag);
    this.board.saveOptions();
  }

  #toggleLog() {
    this.log = !this.log;
    this.#keep("logs", this.log);
    partOf(this.root, "[data-act=log]").setAttribute("aria-pressed", String(this.log));
    this.draw();
  }

  #toggleTable() {
    this.table.hidden = !this.table.hidden;
    const pressed = String(!this.table.hidden);
    partOf(this.root, "[data-act=table]").setAttribute("aria-pressed", pressed);
    this.#fillTable();
    this.resize(); // on the whole screen, the table takes its room from the plot
  }

  #fillTable() {
    this.table.replaceChildren(runTable(this.curves, this.board));
  }

  #save() {
    if (!this.plot) return;
    const legend = this.curves.map(({ run }) => ({ run, ...this.board.styleOf(run) }));
    picture(
      this.plot.ctx.canvas,
      { title: this.tag, legend, paint: this.board.paint() },
      (blob) => {
        if (blob) download(blob, this.tag, ".png");
        else
          this.say(
            `The image with the names of ${legend.length} runs is too high for this browser: select fewer runs.`,
          );
      },
    );
  }
}

/**
 * @param {string} text
 * @param {string} title
 * @param {() => void} act
 * @param {boolean} [pressed]
 */
function tool(text, title, act, pressed) {
  const state = pressed === undefined ? {} : { "aria-pressed": String(pressed) };
  return button({ text, title, "data-act": text, ...state }, act);
}
