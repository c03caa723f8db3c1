// The log of the panel: a summary line, and when opened the lines, with filters and a search.

import { button, el, say, scroller, shorten } from "../shared/dom.js";
import { filtered, LEVELS, SOURCES } from "./log_store.js";

/** @import { Level, LogExtent, LogRow, LogSource, Status } from "../protocol.d.ts" */
/** @import { Choices } from "./choices.js" */
/** @import { LogStore } from "./log_store.js" */

const ROW = 18; // pixels of a line, as in log.css
const MORE = 4; // lines created above and below the visible ones
const AGAIN_MS = 500; // between two checks for lines that have not arrived

export class Log {
  /**
   * point: moves the charts' cursor to a step that was completed at a time.
   * @param {LogStore} store
   * @param {Choices} choices
   * @param {(step: number, wall: number) => void} point
   */
  constructor(store, choices, point) {
    this.store = store;
    this.point = point;
    this.follows = true; // whether the list scrolls to new lines
    this.drawn = ""; // the state that is drawn
    /** @type {LogRow[]} */
    this.rows = [];
    /** @type {LogRow | null} */
    this.current = null; // the line that the arrow keys have reached
    this.summary = el("summary", { "data-role": "log" });
    this.search = el("input", {
      type: "search",
      placeholder: "Search",
      "aria-label": "search the log",
      "data-lm-suppress-shortcuts": "true",
    });
    this.level = choice("minimum level", LEVELS.map(atLeast), LEVELS);
    this.source = choice("source", ["all sources", ...SOURCES], ["", ...SOURCES]);
    this.count = el("span", { class: "nbt-log-count", role: "status" });
    this.end = button({ text: "Follow", title: "Keep scrolling to the newest line" }, () =>
      this.#follow(true),
    );
    this.list = el("div", { class: "nbt-log-list" });
    this.box = scroller("nbt-log-box", "lines of the log", [this.list]);
    this.box.setAttribute(
      "aria-description",
      "The up and down arrow keys read the lines, and show the step of each in the charts.",
    );
    this.spoken = el("div", { class: "nbt-spoken", role: "status", hidden: "" });
    const tools = [this.search, this.level, this.source, this.end, this.count];
    this.root = el("details", {
      class: "nbt-log",
      children: [
        this.summary,
        el("div", { class: "nbt-log-tools", children: tools }),
        this.box,
        this.spoken,
      ],
    });
    this.root.open = choices.values.log;
    this.#heed(choices);
    this.size = new ResizeObserver(() => this.#place());
    this.size.observe(this.box);
  }

  /** @param {Partial<Status>} status */
  show({ log }) {
    this.extent = log;
    this.root.hidden = !log;
    if (!log) return;
    this.#sum(log);
    if (!this.root.open) return;
    clearTimeout(this.timer);
    if (this.store.want(log.count)) this.timer = setTimeout(() => this.show({ log }), AGAIN_MS);
    this.#draw();
  }

  close() {
    clearTimeout(this.timer);
    this.size.disconnect();
  }

  /** @param {Choices} choices */
  #heed(choices) {
    this.root.addEventListener("toggle", () => {
      if (this.root.open !== choices.values.log) choices.choose({ log: this.root.open });
      this.show({ log: this.extent });
    });
    for (const kind of ["input", "change"])
      for (const tool of [this.search, this.level, this.source])
        tool.addEventListener(kind, () => this.#draw());
    this.search.addEventListener("keydown", (event) => event.stopPropagation());
    this.box.addEventListener("scroll", () => {
      const { scrollTop, clientHeight, scrollHeight } = this.box;
      this.#follow(scrollTop + clientHeight >= scrollHeight - ROW);
      this.#place();
    });
    this.box.addEventListener("keydown", (event) => this.#key(event));
    this.list.addEventListener("click", ({ target }) => {
      const row = /** @type {Element} */ (target).closest("[data-step]");
      const selects = String(getSelection()) !== "";
      if (row instanceof HTMLElement && !selects)
        this.point(Number(row.dataset.step), Number(row.dataset.wall));
    });
  }

  /** @param {boolean} follows */
  #follow(follows) {
    this.follows = follows;
    this.end.hidden = follows;
    if (follows) this.box.scrollTop = this.box.scrollHeight;
  }

  /** @param {LogExtent} extent */
  #sum({ count, warnings, errors, last }) {
    const counted = [
      counts(count, "line"),
      ...(warnings ? [counts(warnings, "warning")] : []),
      ...(errors ? [counts(errors, "error")] : []),
    ];
    say(this.summary, `Log: ${counted.join(", ")}${this.root.open ? "" : ` · ${last}`}`);
  }

  #draw() {
    const filter = {
      level: /** @type {Level} */ (this.level.value),
      source: /** @type {LogSource | ""} */ (this.source.value),
      text: this.search.value.trim(),
    };
    const state = JSON.stringify([filter, this.store.have, this.store.rows.length]);
    if (state === this.drawn) return;
    this.drawn = state;
    const { rows } = this.store;
    this.rows = filtered(rows, filter);
    const some = this.rows.length < rows.length;
    const dropped = this.store.have - rows.length;
    const kept = dropped > 0 ? `the newest ${number(rows.length)} lines; all are in log.txt` : "";
    say(this.count, some ? `${number(this.rows.length)} of ${number(rows.length)}` : kept);
    this.list.style.height = `${this.rows.length * ROW}px`;
    this.#follow(this.follows);
    this.#place();
  }

  /**
   * Moves to the next or the previous line; at first, to the first or the last one in view.
   * @param {KeyboardEvent} event
   */
  #key(event) {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!by || event.altKey || event.ctrlKey || event.metaKey || !this.rows.length) return;
    event.preventDefault();
    const { scrollTop, clientHeight } = this.box;
    const before = this.current ? this.rows.indexOf(this.current) : -1;
    const first =
      by > 0 ? Math.ceil(scrollTop / ROW) : Math.floor((scrollTop + clientHeight) / ROW) - 1;
    const at = Math.max(0, Math.min(before < 0 ? first : before + by, this.rows.length - 1));
    this.current = this.rows[at];
    this.#follow(false);
    const [wall, step, , , text] = this.current;
    this.box.scrollTop = Math.min(at * ROW, Math.max(scrollTop, (at + 1) * ROW - clientHeight));
    this.#place();
    say(this.spoken, `step ${number(step)}: ${text}`);
    this.point(step, wall || NaN);
  }

  // Creates the visible lines.
  #place() {
    const { scrollTop, clientHeight } = this.box;
    const first = Math.max(0, Math.floor(scrollTop / ROW) - MORE);
    const shown = this.rows.slice(first, Math.ceil((scrollTop + clientHeight) / ROW) + MORE);
    this.list.style.paddingTop = `${first * ROW}px`;
    shorten(this.list, shown.length);
    while (this.list.children.length < shown.length) this.list.append(line());
    shown.forEach((row, i) => {
      const line = /** @type {HTMLElement} */ (this.list.children[i]);
      fill(line, row);
      line.setAttribute("aria-current", String(row === this.current));
    });
  }
}

function line() {
  // Not in the tab order: a line that leaves the view would take the focus with it.
  const step = el("button", { type: "button", class: "nbt-log-step", tabindex: -1 });
  const children = [el("time"), step, el("span"), el("span")];
  return el("div", { class: "nbt-log-line", children });
}

/**
 * @param {HTMLElement} node
 * @param {LogRow} row
 */
function fill(node, [wall, step, level, source, text]) {
  const [time, at, from, said] = /** @type {HTMLElement[]} */ ([...node.children]);
  const date = new Date(wall * 1000);
  say(time, wall ? date.toLocaleTimeString("en-GB") : "");
  time.title = wall ? date.toLocaleString() : "";
  say(at, number(step));
  at.title = `Show step ${number(step)} in the charts`;
  say(from, level === "INFO" || level === "DEBUG" ? source : `${source} ${level}`);
  said.textContent = text;
  said.title = text;
  Object.assign(node.dataset, { step: String(step), wall: String(wall || NaN), level });
}

/**
 * @param {string} label
 * @param {string[]} texts
 * @param {string[]} values
 */
function choice(label, texts, values) {
  const children = texts.map((text, i) => el("option", { text, value: values[i] }));
  return el("select", { "aria-label": label, children });
}

/** @param {Level} level */
function atLeast(level) {
  const name = level.toLowerCase();
  return level === "DEBUG" ? "all levels" : level === "CRITICAL" ? name : `${name} and above`;
}

/** @param {number} n */
const number = (n) => n.toLocaleString("en");

/**
 * @param {number} count
 * @param {string} what
 */
function counts(count, what) {
  return `${number(count)} ${what}${count === 1 ? "" : "s"}`;
}
