// The chart of a tag and its validation: of each a mean line, a band from lowest to highest and
// abandoned tails; and marks.

import { bucketAt, bucketUpTo, divided, marks, together } from "../shared/columns.js";
import { el } from "../shared/dom.js";
import { MarksStrip, STRIP } from "./marks_strip.js";
import { BaseChart } from "../shared/base_chart.js";
import { axes, besidePointer, drawMarks, isArrow, steps, yScale } from "../shared/plot.js";
import { ChartHead } from "./chart_head.js";
import { bandsOf, seriesOf } from "./series.js";

/** @import uPlot from "uplot" */
/** @import { Bucket, Columns, Curve, Mark, Paint, TagLine, UnseenBucket } from "../types.d.ts" */
/** @import { MarksMenu } from "./marks_menu.js" */

/** @typedef {TagLine & {curves: Curve[]}} DrawnLine */

const WIDE = 560; // pixels from which a chart is higher
const REACH = 6; // pixels from a point of the validation to a pointer that means it

export class Chart extends BaseChart {
  /**
   * paint: gives what to paint with, as the theme stands; open: see marks_menu.js.
   * @param {{tag: string, syncKey: string, paint: () => Paint, open: MarksMenu["open"]}} panel
   */
  constructor({ tag, syncKey, paint, open }) {
    const strip = new MarksStrip(paint);
    super("", strip.tip);
    this.syncKey = syncKey;
    this.paint = paint;
    this.open = open;
    this.strip = strip;
    this.log = false;
    this.hovered = false;
    /** @type {DrawnLine[]} */
    this.lines = [];
    /** @type {UnseenBucket[][]} */
    this.found = []; // in each line
    this.head = new ChartHead(tag, () => this.#toggleLog());
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
   * Draw these lines, and the marks of what was done; without them, those there were.
   * @param {DrawnLine[]} [lines]
   * @param {Mark[]} [done]
   */
  draw(lines = this.lines, done = this.strip.marks) {
    this.lines = lines;
    this.strip.marks = done;
    this.root.dataset.timeline = String(done.length);
    this.found = lines.map(({ curves }) => marks(curves, { log: this.log }));
    this.root.dataset.marks = String(this.found.flat().length);
    const tags = lines.map(({ tag }) => tag).join(" and ");
    this.host.setAttribute(
      "aria-label",
      `chart of ${tags}: the arrow keys read values and stop at marks, Home and End go to the ends, Enter tells what can be done about one`,
    );
    if (this.hasRoom()) this.#plot();
    if (!this.hovered) this.head.tell([], this.found.flat());
    this.#colour();
  }

  repaint() {
    this.#colour();
    this.plot?.redraw(false, true);
  }

  destroy() {
    super.destroy();
    this.hovered = false;
    for (const dot of this.dots) dot.hidden = true;
  }

  #colour() {
    const { colours } = this.paint();
    this.root.style.setProperty("--colour", colours[Number(Boolean(this.lines[0]?.validates))]);
    this.root.style.setProperty("--validation", colours[1]);
  }

  get #parts() {
    return this.lines.map(({ curves }) => divided(curves));
  }

  get look() {
    return [this.log, ...this.#parts.map(({ tails }) => tails.length)].join();
  }

  get height() {
    return this.host.clientWidth > WIDE ? 240 : 180;
  }

  // Zoom and cursor stay as they are while data comes in, also when a new tail needs a new plot.
  #plot() {
    const places = this.strip.marks.map(({ place }) => place);
    const data = together(
      this.lines.map(({ curves }) => curves),
      { log: this.log, places },
    );
    const zoom = this.#zoom();
    const parts = this.#parts;
    const tails = parts.reduce((sum, part) => sum + part.tails.length, 0);
    // The scale is that of what counts, which would be a flat line below a tail that has gone bad.
    const auto = parts.every(({ kept }) => !kept.length);
    if (!this.plot || this.drawn !== this.look) this.#build(data, { tails, auto });
    else {
      this.plot.series.slice(1, 1 + tails).forEach((tail) => (tail.auto = auto));
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

  /**
   * @param {Columns} data
   * @param {{tails: number, auto: boolean}} abandoned see series.js
   */
  #build(data, abandoned) {
    const { left = -10, top = -10 } = this.plot?.cursor ?? {};
    this.build(data, {
      series: seriesOf(this.lines, abandoned, this.paint),
      bands: bandsOf(this.lines, abandoned.tails, this.paint),
      scales: { x: { time: false, range: steps }, y: yScale(this.log) },
      axes: axes(this.paint, { log: this.log }),
      cursor: {
        sync: { key: this.syncKey, scales: ["x", null] },
        points: { show: false },
        y: false,
      },
      padding: [STRIP, 16, 0, 0],
      hooks: {
        draw: [
          (u) => this.strip.draw(u),
          (u) => this.found.forEach((found) => drawMarks(u, found, this.paint())),
        ],
        ready: [(u) => left >= 0 && u.setCursor({ left, top })],
      },
    });
    const { over } = this.plot;
    over.append(...this.dots, this.strip.strip, this.tip);
    // What is above the plot is none of it to uPlot, which tells nobody of the pointer there.
    this.strip.strip.addEventListener("mousemove", ({ clientX }) =>
      this.#along(clientX - over.getBoundingClientRect().left),
    );
    let from = 0; // a drag ends in a click, too
    over.addEventListener("mousedown", ({ clientX }) => (from = clientX));
    over.addEventListener(
      "click",
      ({ clientX, target }) =>
        Math.abs(clientX - from) < 4 &&
        this.#ask(clientX - over.getBoundingClientRect().left, target === over),
    );
  }

  /** @param {uPlot} u */
  hover(u) {
    this.hovered = u.cursor.left >= 0;
    const buckets = this.hovered ? this.#bucketsAt(u, u.cursor.left) : [];
    this.head.tell(buckets, this.found.flat());
    this.dots.forEach((dot, i) => point(dot, u, buckets[i]));
    const meant = this.hovered && this.#isMine(u) ? this.strip.at(u.cursor.left) : undefined;
    u.over.style.cursor = meant ? "pointer" : "";
    this.strip.tell(meant?.marks);
    if (meant) besidePointer(this.tip, u);
  }

  /**
   * The pointer is in the strip, and the cursor below it.
   * @param {number} left
   */
  #along(left) {
    const { clientWidth } = this.plot.over;
    const place = { left: Math.min(clientWidth, Math.max(0, left)), top: 0 };
    /** @type {any} */ (this.plot).setCursor(place, true, true); // to the other charts as well
  }

  /**
   * The other charts of the panel move their cursors too.
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
    const { left } = u.cursor;
    if (event.key === "Enter") this.#ask(left);
    else if (!super.press(u, event)) return false;
    else if (left >= 0 && isArrow(event.key) && !event.shiftKey) {
      const mark = this.strip.between(left, u.cursor.left);
      if (mark) u.setCursor({ left: mark.left, top: u.over.clientHeight / 2 });
    }
    return true;
  }

  /**
   * Beside the sign; below the chart where the pointer is in the plot, and would be over a button.
   * @param {number} left
   * @param {boolean} [inPlot]
   */
  #ask(left, inPlot = false) {
    const meant = this.strip.at(left);
    const anchor = inPlot ? this.host : this.strip.strip;
    const { left: from } = this.plot.over.getBoundingClientRect();
    if (meant)
      this.open(meant.marks, anchor, meant.left + from - anchor.getBoundingClientRect().left);
  }

  /**
   * What opens beside a mark gives the focus back: the place is kept for that.
   * @param {FocusEvent} event
   */
  leave({ relatedTarget }) {
    if (!(relatedTarget instanceof Element && relatedTarget.closest(".nbt-pop"))) super.leave();
  }

  /**
   * Of the first line the bucket that is meant, and of its validation what was known by then.
   * @param {uPlot} u
   * @param {number} left
   */
  #bucketsAt(u, left) {
    const [first, second] = this.lines;
    const bucket = bucketAt(first.curves, u.posToVal(left, "x"));
    if (!bucket || !second) return [bucket];
    const step = Math.max(bucket.x, u.posToVal(left + REACH, "x"));
    return [bucket, bucketUpTo(second.curves, step, bucket)];
  }

  #toggleLog() {
    this.log = !this.log;
    this.head.log.setAttribute("aria-pressed", String(this.log));
    this.draw();
  }
}

/**
 * @param {HTMLElement} dot
 * @param {uPlot} u
 * @param {Bucket | null | undefined} bucket
 */
function point(dot, u, bucket) {
  const [left, top] = bucket ? [u.valToPos(bucket.x, "x"), u.valToPos(bucket.mean, "y")] : [];
  dot.hidden = !(Number.isFinite(left) && top >= 0 && top <= u.over.clientHeight);
  dot.classList.toggle("nbt-gone", Boolean(bucket?.abandoned));
  dot.style.transform = `translate(${left}px, ${top}px)`;
}
