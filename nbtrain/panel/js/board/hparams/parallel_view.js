// Parallel coordinates: an axis for each hyperparameter and metric, a line for each run. Brushing an
// axis sets the filter of its column.

import { button, el, focusedIn, partOf, say } from "../../shared/dom.js";
import { filterOf, stretchesOf } from "./brush.js";
import { Colouring } from "./colouring.js";
import { drawLines, drawOut } from "./parallel_canvas.js";
import { Polylines } from "./polylines.js";
import { tipOf } from "./tip.js";
import { axisOf, ticksOf } from "./value_axis.js";

/** @import { Room } from "./polylines.js" */
/** @import { Paint } from "../../shared/theme.js" */
/** @import { HparamsColumn, HparamsHost, HparamsRow, HparamsShown, HparamsView } from "../pages/hparams_page.js" */
/** @import { ValueAxis } from "./value_axis.js" */

/**
 * An axis as it is drawn; missing: the number of rows without a place on it.
 * @typedef {{column: HparamsColumn, axis: ValueAxis, ticks: ReturnType<typeof ticksOf>, missing: number, stretches: ReturnType<typeof stretchesOf>}} Drawing
 */
/**
 * A whole drawing: the rows of each colour, and the others, drawn faintly.
 * @typedef {{shown: HparamsShown, size: {width: number, height: number}, room: Room, lines: Polylines, shades: Map<string, HparamsRow[]>, others: HparamsRow[], axes: Drawing[], paint: Paint}} Drawn
 */

/** @typedef {{at: number, from: number, moved: boolean}} Brush Of an axis, from a height. */

const MOST = 20; // axes
const EACH = 96; // pixels of an axis, at least
const SIDE = 56; // pixels before the first axis and after the last one
const TOP = 8;
const HEIGHT = 300; // pixels of an axis
const NONE = 22; // pixels between an axis and the lines without a place on it
const NEAR = 10; // pixels from the pointer to a line
const GRIP = 14; // pixels from the pointer to an axis to brush
const MOVED = 4; // pixels that make a brush

/** @implements {HparamsView} */
export class ParallelView {
  /** @param {HparamsHost} host */
  constructor(host) {
    this.host = host;
    /** @type {HparamsShown | null} */
    this.shown = null;
    /** @type {Map<string, boolean>} */
    this.logs = new Map(); // by column: whether its axis is logarithmic
    /** @type {Drawn | null} */
    this.drawn = null;
    /** @type {HparamsRow | null} */
    this.pointed = null;
    /** @type {Brush | null} */
    this.brush = null;
    this.colouring = new Colouring(host, () => this.#draw());
    this.words = el("span", { class: "nbt-soft", role: "status", "data-role": "axes" });
    this.heads = el("div", { class: "nbt-axes" });
    this.lines = el("canvas");
    this.out = el("canvas", { class: "nbt-over" });
    this.tip = el("div", { class: "nbt-tip", hidden: "", "data-role": "values" });
    this.stage = el("div", {
      class: "nbt-stage",
      tabindex: 0,
      role: "group",
      "aria-label":
        "parallel coordinates: the arrow keys read run after run, Enter marks one; the fields under Filters limit an axis",
      children: [this.lines, this.out, this.tip],
    });
    this.#listen();
    this.scroll = el("div", { class: "nbt-wide", children: [this.heads, this.stage] });
    const tools = el("div", {
      class: "nbt-sheet-tools",
      children: [this.colouring.root, this.words],
    });
    this.root = el("div", {
      class: "nbt-parallel",
      "data-role": "parallel",
      children: [tools, this.scroll],
    });
    this.size = new ResizeObserver(() => this.#draw());
    this.size.observe(this.scroll);
  }

  /** @param {HparamsShown} shown */
  show(shown) {
    this.shown = shown;
    if (!this.pointed || !shown.chosen.includes(this.pointed)) this.#point(null);
    this.#draw();
  }

  /** @param {HparamsRow | null} row */
  highlight(row) {
    if (!this.drawn) return;
    this.pointed = row;
    this.#drawOut(this.drawn);
  }

  close() {
    this.size.disconnect();
  }

  #draw() {
    const { clientWidth } = this.scroll;
    if (!this.shown || !clientWidth) return;
    const { shown } = this;
    const { columns, rows, chosen } = shown;
    this.colouring.show(columns);
    const axes = columns.slice(0, MOST).map((column) => this.#axis(column, rows));
    const lacking = axes.some(({ missing }) => missing);
    say(this.words, wordsOf({ columns: columns.length, rows: rows.length, most: MOST, lacking }));
    const count = Math.max(1, axes.length - 1);
    const width = Math.max(clientWidth, 2 * SIDE + EACH * count);
    const xs = axes.map((_, i) => SIDE + ((width - 2 * SIDE) * i) / count);
    const room = { xs, top: TOP, bottom: TOP + HEIGHT, none: TOP + HEIGHT + NONE };
    const meant = new Set(chosen);
    const drawn = {
      shown,
      size: { width, height: room.none + TOP },
      room,
      lines: new Polylines(rows, axes),
      shades: this.colouring.shades(chosen),
      others: rows.filter((row) => !meant.has(row)),
      axes,
      paint: this.host.board.paint(),
    };
    this.drawn = drawn;
    drawLines(this.lines, drawn);
    this.#drawHeads(drawn);
    this.#drawOut(drawn);
    Object.assign(this.root.dataset, { lines: chosen.length, axes: axes.length });
  }

  /**
   * @param {HparamsColumn} column
   * @param {HparamsRow[]} rows
   * @returns {Drawing}
   */
  #axis(column, rows) {
    const axis = axisOf(column.values, this.logs.get(column.id));
    const lines = new Polylines(rows, [{ column, axis }]);
    const missing = lines.places.reduce((n, place) => n + Number(Number.isNaN(place)), 0);
    const stretches = stretchesOf(axis, this.host.filters.choices.get(column.id));
    return { column, axis, ticks: ticksOf(axis), missing, stretches };
  }

  /** @param {Drawn} drawn */
  #drawHeads({ axes, room, size }) {
    const focused = focusedIn(this.heads)?.closest("[data-axis]")?.getAttribute("data-axis");
    this.heads.style.width = `${size.width}px`;
    this.heads.replaceChildren(
      ...axes.map(({ column, axis }, i) => {
        const toggle = () => {
          this.logs.set(column.id, axis.scale !== "log");
          this.#draw();
        };
        return headOf(column, axis, { left: room.xs[i], toggle });
      }),
    );
    for (const head of this.heads.children)
      if (focused !== undefined && head.getAttribute("data-axis") === focused)
        partOf(head, "button").focus({ preventScroll: true });
  }

  /** @param {Drawn} drawn */
  #drawOut(drawn) {
    const { rows, marked } = drawn.shown;
    const { pointed } = this;
    const out = rows.filter((row) => row.run === marked && row !== pointed);
    if (pointed && rows.includes(pointed)) out.push(pointed);
    this.stage.classList.toggle("nbt-pointed", pointed !== null);
    drawOut(
      this.out,
      drawn,
      out.map((row) => ({ row, colour: this.colouring.of(row) })),
    );
  }

  /**
   * Shows the values of a run; null hides them.
   * @param {HparamsRow | null} row
   * @param {{x: number, y: number}} [at] the pointer
   */
  #point(row, at = { x: 0, y: TOP }) {
    const { drawn } = this;
    const changed = this.pointed !== row;
    this.pointed = row;
    this.tip.hidden = !row;
    if (changed && drawn) this.#drawOut(drawn);
    if (!row || !drawn) return;
    if (changed)
      this.tip.replaceChildren(
        ...tipOf(
          row,
          drawn.axes.map(({ column }) => column),
          this.host,
        ),
      );
    const { width } = drawn.size;
    const left = at.x > width / 2 ? at.x - this.tip.offsetWidth - 16 : at.x + 16;
    Object.assign(this.tip.style, { left: `${Math.max(0, left)}px`, top: `${TOP}px` });
  }

  // --- the pointer and the keys

  #listen() {
    const { stage } = this;
    stage.addEventListener("pointerdown", (event) => this.#down(event));
    stage.addEventListener("pointermove", (event) => this.#move(event));
    stage.addEventListener("pointerup", (event) => this.#up(event));
    stage.addEventListener("pointercancel", () => (this.brush = null));
    stage.addEventListener("pointerleave", () => this.#point(null));
    stage.addEventListener("blur", () => this.#point(null));
    stage.addEventListener("keydown", (event) => this.#key(event));
  }

  /** @param {PointerEvent} event */
  #place({ clientX, clientY }) {
    const { left, top } = this.stage.getBoundingClientRect();
    return { x: clientX - left, y: clientY - top };
  }

  /**
   * The axis that a point is at; -1 for none.
   * @param {Room} room
   * @param {{x: number, y: number}} point
   */
  #axisAt({ xs, top, bottom }, { x, y }) {
    const within = y >= top - GRIP && y <= bottom + GRIP;
    return within ? xs.findIndex((at) => Math.abs(at - x) <= GRIP) : -1;
  }

  /** @param {PointerEvent} event */
  #down(event) {
    if (!this.drawn || event.button) return;
    const point = this.#place(event);
    const at = this.#axisAt(this.drawn.room, point);
    if (at < 0) return;
    this.brush = { at, from: point.y, moved: false };
    this.stage.setPointerCapture(event.pointerId);
  }

  /** @param {PointerEvent} event */
  #move(event) {
    const { drawn, brush } = this;
    if (!drawn) return;
    const point = this.#place(event);
    if (brush) return this.#brushTo(drawn, brush, point.y);
    this.stage.classList.toggle("nbt-grip", this.#axisAt(drawn.room, point) >= 0);
    const found = drawn.lines.nearest(drawn.shown.chosen, point, drawn.room);
    this.#point(found && found.distance <= NEAR ? found.row : null, point);
  }

  /**
   * @param {Drawn} drawn
   * @param {Brush} brush
   * @param {number} y
   */
  #brushTo({ room: { top, bottom }, axes }, brush, y) {
    const { at, from } = brush;
    brush.moved ||= Math.abs(y - from) >= MOVED;
    if (!brush.moved) return;
    const [one, other] = [from, y].map((each) => (bottom - each) / (bottom - top));
    const { column, axis } = axes[at];
    this.#point(null);
    this.host.filters.choose(column.id, filterOf(axis, one, other));
  }

  // A click on a filtered axis clears the filter; elsewhere it marks the run.
  /** @param {PointerEvent} event */
  #up(event) {
    if (!this.drawn || event.button) return;
    const { brush } = this;
    this.brush = null;
    if (brush?.moved) return;
    const axis = brush ? this.drawn.axes[brush.at] : null;
    if (axis?.stretches.length) this.host.filters.choose(axis.column.id, null);
    else if (this.pointed) this.host.mark(this.pointed.run);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const chosen = this.shown?.chosen ?? [];
    /** @type {Record<string, number>} */
    const ways = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };
    if (event.target !== this.stage || !chosen.length) return;
    if (event.key in ways) {
      const at = this.pointed ? chosen.indexOf(this.pointed) : -1;
      const next = at < 0 ? 0 : (at + ways[event.key] + chosen.length) % chosen.length;
      this.#point(chosen[next]);
    } else if (event.key === "Enter" && this.pointed) this.host.mark(this.pointed.run);
    else if (event.key === "Escape") this.#point(null);
    else return;
    event.preventDefault();
    event.stopPropagation(); // not a command of the notebook
  }
}

/**
 * The head of an axis; left: the position of the axis; toggle: changes its scale.
 * @param {HparamsColumn} column
 * @param {ValueAxis} axis
 * @param {{left: number, toggle: () => void}} how
 */
function headOf({ id, text }, { canLog, scale }, { left, toggle }) {
  const name = el("span", { text, title: text });
  const how = { text: "log", title: "Logarithmic scale", "aria-label": `log ${text}` };
  const log = button({ ...how, "aria-pressed": String(scale === "log") }, toggle);
  log.hidden = !canLog;
  const head = el("div", { "data-axis": id, children: [name, log] });
  head.style.left = `${left}px`;
  return head;
}

/**
 * The words beside parallel coordinates. most: how many axes there may be; lacking: true if a run has
 * no value of a column.
 * @param {{columns: number, rows: number, most: number, lacking: boolean}} of
 */
function wordsOf({ columns, rows, most, lacking }) {
  if (!rows) return "No run matches the filter.";
  if (!columns) return "No column is selected: see Columns.";
  const none = lacking ? " The number after – below an axis counts the runs without a value." : "";
  const words = `Drag along an axis to filter runs; click it to clear the filter.${none}`;
  return columns > most ? `The first ${most} of ${columns} columns. ${words}` : words;
}
