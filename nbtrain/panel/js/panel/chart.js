// The chart of a tag and its validation: each has a line of means, a band from lowest to highest, and
// abandoned tails. Above the plot are the marks of the run.

import { divided, marks } from "../shared/buckets.js";
import { together } from "../shared/columns.js";
import { el } from "../shared/dom.js";
import { inWords } from "../shared/format.js";
import { MarksStrip, STRIP } from "./marks_strip.js";
import { BaseChart } from "../shared/base_chart.js";
import {
  axes,
  cursorOf,
  drawMarks,
  isArrow,
  placeDot,
  rangeOf,
  xScale,
  yScale,
} from "../shared/plot.js";
import { lastOf } from "../shared/collections.js";
import { ChartHead } from "./chart_head.js";
import { armOfTail } from "./arms.js";
import { ArmsTip } from "./arms_tip.js";
import { bucketsAt, stepAt } from "./reading.js";
import { bandsOf, seriesOf } from "./series.js";
import { summary, table } from "./values.js";

/** @import uPlot from "uplot" */
/** @import { MarksMenu } from "./marks_menu.js" */
/** @import { Drawn } from "./series.js" */
/** @import { ChartAxis } from "../shared/axis_tools.js" */
/** @import { Bucket, Curve, UnseenBucket } from "../shared/buckets.js" */
/** @import { Columns } from "../shared/columns.js" */
/** @import { Paint } from "../shared/theme.js" */
/** @import { PlacedMark } from "./x_axis.js" */
/** @import { Arm } from "./arms.js" */
/** @import { TagLine } from "./store.js" */

/** @typedef {TagLine & {curves: Curve[], last?: string}} DrawnLine */
/** @typedef {{min: number, max: number}} Zoom */

/** @typedef {ConstructorParameters<typeof ChartHead>[1]} HeadClicks */
/** @typedef {{open: MarksMenu["open"], pointed: (step: number | null) => void, chosen: (step: number) => unknown}} ChartActs */

const KEYS =
  "The arrow keys read values and stop at marks, Home and End go to the ends, Enter opens the actions of a mark.";

export class Chart extends BaseChart {
  /**
   * paint: returns the colours of the current theme; act: see chart_grid.js; clicks: see chart_head.js.
   * @param {{tag: string, syncKey: string, paint: () => Paint, act: ChartActs, clicks: HeadClicks}} panel
   */
  constructor({ tag, syncKey, paint, act, clicks }) {
    const strip = new MarksStrip(paint);
    super("", strip.tip);
    this.syncKey = syncKey;
    this.paint = paint;
    this.act = act;
    this.strip = strip;
    this.log = false;
    /** @type {ChartAxis} */
    this.x = "step";
    this.logX = false;
    /** @type {ChartAxis} */
    this.along = "step"; // the axis of the plot
    /** @type {Zoom | null} */
    this.zoom = null; // the part of the axis that the user has chosen
    this.smooth = 0;
    /** @type {Arm[]} */
    this.arms = [];
    this.room = 0; // the height of the plot in pixels
    this.hovered = false;
    /** @type {DrawnLine[]} */
    this.lines = [];
    /** @type {UnseenBucket[][]} */
    this.found = []; // the unseen values of each line
    // uPlot sends no events for the strip above the plot.
    strip.strip.addEventListener(
      "mousemove",
      ({ clientX }) =>
        this.plot && this.pointTo(clientX - this.plot.over.getBoundingClientRect().left),
    );
    this.head = new ChartHead(tag, clicks);
    this.armsTip = new ArmsTip(paint);
    this.dots = ["nbt-dot", "nbt-dot nbt-validation"].map((kind) =>
      el("div", { class: kind, hidden: "" }),
    );
    this.root = el("section", {
      class: "nbt-chart",
      "data-tag": tag,
      children: [this.head.root, this.host],
    });
  }

  /**
   * Draws lines and marks; by default the current ones again.
   * @param {DrawnLine[]} [lines]
   * @param {PlacedMark[]} [done]
   */
  draw(lines = this.lines, done = this.strip.marks) {
    this.lines = lines;
    this.strip.marks = done;
    this.root.dataset.timeline = String(done.length);
    this.root.dataset.axis = this.x;
    this.found = lines.map(({ curves }) => marks(curves, { log: this.log }));
    this.root.dataset.marks = String(this.found.flat().length);
    const tags = inWords(lines.flatMap(({ tags }) => tags));
    this.host.setAttribute("aria-label", `chart of ${tags}`);
    this.host.setAttribute("aria-description", `${summary(lines)}. ${KEYS}`);
    if (this.hasRoom()) this.#plot();
    if (!this.hovered) this.head.showReading([], this.found.flat(), { hovered: false });
    this.#colour();
  }

  // The values that are drawn, as a table.
  table() {
    return table(this.lines, this.zoom);
  }

  get reading() {
    return [this.head.legend.textContent, super.reading].filter(Boolean).join(", ");
  }

  repaint() {
    this.#colour();
    this.plot?.redraw(false, true);
  }

  destroy() {
    super.destroy();
    this.hovered = false;
    for (const dot of this.dots) dot.hidden = true;
    this.armsTip.hide();
  }

  #colour() {
    const { colours } = this.paint();
    this.root.style.setProperty("--colour", colours[Number(Boolean(this.lines[0]?.validates))]);
    this.root.style.setProperty("--validation", colours[1]);
  }

  get #parts() {
    return this.lines.map(({ curves }) => divided(curves));
  }

  // For each line, the arm of the trial that each tail belongs to; -1 for none.
  get #tails() {
    return this.#parts.map(({ tails }) => tails.map((tail) => armOfTail(this.arms, tail)));
  }

  get look() {
    return [
      this.log,
      this.x,
      this.logX,
      this.smooth > 0,
      ...this.#tails.map((arms) => arms.join(" ")),
    ].join();
  }

  get height() {
    return this.room;
  }

  // Draws the data. Zoom and cursor stay, even if a new tail needs a new plot.
  #plot() {
    const places = this.strip.marks.map(({ at }) => at);
    const data = together(
      this.lines.map(({ curves }) => curves),
      { log: this.log, logX: this.logX, smooth: this.smooth, places },
    );
    if (!this.plot || this.along !== this.x) this.zoom = null;
    const { zoom } = this;
    const parts = this.#parts;
    const tails = this.#tails.flat();
    // Abandoned tails do not affect the scale: a diverged one would flatten the line.
    const auto = parts.every(({ kept }) => !kept.length);
    let { plot } = this;
    if (!plot || this.drawn !== this.look)
      plot = this.#build(data, { tails, auto, smooth: this.smooth > 0 });
    else {
      plot.series.slice(1, 1 + tails.length).forEach((tail) => (tail.auto = auto));
      plot.setData(data, !zoom);
    }
    if (zoom && !(this.logX && zoom.min <= 0)) plot.setScale("x", zoom);
  }

  /**
   * Stores the zoom once uPlot has set the scale. uPlot does so after this frame: until then, a new plot
   * has no scale, and new data have the scale of the data before.
   * @param {uPlot} u
   * @param {string} scale
   */
  #scaled(u, scale) {
    if (u !== this.plot || scale !== "x") return;
    const { min, max } = rangeOf(u);
    const [places] = u.data;
    this.zoom = min > places[0] || max < lastOf(places) ? { min, max } : null;
  }

  /**
   * @param {Columns} data
   * @param {Drawn} drawn
   */
  #build(data, drawn) {
    this.along = this.x;
    const plot = this.build(data, {
      series: seriesOf(this.lines, drawn, this.paint),
      bands: bandsOf(this.lines, drawn, this.paint),
      scales: { x: xScale(this.logX, this.x), y: yScale(this.log, this.head.outliers) },
      axes: axes(this.paint, { log: this.log, x: this.x, logX: this.logX }),
      cursor: {
        sync: { key: this.syncKey, scales: ["x", null] },
        points: { show: false },
        y: false,
      },
      padding: [STRIP, this.x === "wall" ? 28 : 16, 0, 0],
      hooks: {
        draw: [
          (u) => this.strip.draw(u),
          (u) => this.found.forEach((found) => drawMarks(u, found, this.paint())),
          (u) => drawMarks(u, this.head.outliers.beyond(u), this.paint()),
        ],
        setScale: [(u, scale) => this.#scaled(u, scale)],
      },
    });
    const { over } = plot;
    over.append(...this.dots, this.strip.strip, this.tip.root, this.armsTip.root);
    let from = 0; // a drag also ends with a click
    over.addEventListener("mousedown", ({ clientX }) => (from = clientX));
    over.addEventListener(
      "click",
      ({ clientX, target }) =>
        Math.abs(clientX - from) < 4 &&
        this.#ask(plot, clientX - over.getBoundingClientRect().left, target === over),
    );
    return plot;
  }

  /** @param {uPlot} u */
  hover(u) {
    const { left } = cursorOf(u);
    this.hovered = left >= 0;
    this.act.pointed(this.hovered ? stepAt(u, left, this) : null);
    const buckets = this.hovered ? bucketsAt(u, left, this) : [];
    this.head.showReading(buckets, this.found.flat(), { hovered: this.hovered, x: this.x });
    this.dots.forEach((dot, i) => placeDot(dot, u, buckets[i]));
    const meant = this.hovered && this.#isMine(u) ? this.strip.at(left) : undefined;
    u.over.style.cursor = meant ? "pointer" : "";
    this.strip.showTip(u, meant?.marks);
    if (!meant && this.hovered && this.#isMine(u)) this.armsTip.list(u, this.arms, this.lines);
    else this.armsTip.hide();
  }

  /**
   * Moves the cursor of this chart, and with it those of the others.
   * @param {number} left pixels from the left edge of the plot
   */
  pointTo(left) {
    if (!this.plot) return;
    const { clientWidth, clientHeight } = this.plot.over;
    const place = { left: Math.min(clientWidth, Math.max(0, left)), top: clientHeight / 2 };
    /** @type {any} */ (this.plot).setCursor(place, true, true);
  }

  /**
   * Returns whether this chart has the pointer or the focus: the cursors of all charts move together.
   * @param {uPlot} u
   */
  #isMine(u) {
    return u.over.matches(":hover") || this.host.contains(document.activeElement);
  }

  /**
   * @param {uPlot} u
   * @param {KeyboardEvent} event
   */
  press(u, event) {
    const { left } = cursorOf(u);
    if (event.key === "Enter") this.#ask(u, left);
    else if (!super.press(u, event)) return false;
    else if (left >= 0 && isArrow(event.key) && !event.shiftKey) {
      const mark = this.strip.between(left, cursorOf(u).left);
      if (mark) u.setCursor({ left: mark.left, top: u.over.clientHeight / 2 });
    }
    return true;
  }

  /**
   * Opens the menu beside a sign, or below the chart if the pointer is in the plot.
   * @param {uPlot} u
   * @param {number} left
   * @param {boolean} [inPlot]
   */
  #ask(u, left, inPlot = false) {
    const meant = this.strip.at(left);
    const anchor = inPlot ? this.host : this.strip.strip;
    const { left: from } = u.over.getBoundingClientRect();
    if (meant)
      this.act.open(meant.marks, anchor, meant.left + from - anchor.getBoundingClientRect().left);
    else this.#choose(stepAt(u, left, this));
  }

  /** @param {number | null} step */
  #choose(step) {
    if (step !== null) this.act.chosen(Math.round(step));
  }

  /**
   * Keeps the cursor while the menu is open, which returns the focus.
   * @param {FocusEvent} event
   */
  leave({ relatedTarget }) {
    if (!(relatedTarget instanceof Element && relatedTarget.closest(".nbt-pop"))) super.leave();
  }
}
