// The charts of a panel: as many as fit, and a foot that controls their number, height and axis.

import { best, isAbandoned } from "../shared/buckets.js";
import { button, el, focusedIn, scroller } from "../shared/dom.js";
import { AxisTools } from "../shared/axis_tools.js";
import { SYSTEM } from "../shared/side_tags.js";
import { get, lastOf } from "../shared/collections.js";
import { XAxis, startTime } from "./x_axis.js";
import { armsOf } from "./arms.js";
import { Chart } from "./chart.js";
import { APART, columnsOf, fitted, roomOf } from "./fit.js";
import { Popover } from "./popover.js";

/** @import { Status } from "../protocol.d.ts" */
/** @import { Choices } from "./choices.js" */
/** @import { MarksMenu } from "./marks_menu.js" */
/** @import { Store, TagLine } from "./store.js" */
/** @import { ChartAxis } from "../shared/axis_tools.js" */
/** @import { Paint } from "../shared/theme.js" */

const BY_KEY = 24; // pixels
const LEAST = 140;
/** @type {ChartAxis[]} */
const AXES = ["step", "epoch", "relative", "wall"];
const NO_EPOCHS = "no epochs known";
const NO_LENGTH = "steps per epoch unknown";
let grids = 0;

export class ChartGrid {
  /**
   * store: of the run; paint: returns the colours of the current theme; open: see marks_menu.js;
   * pointed: called with the step under the cursor, or null; chosen: called with the step of a click;
   * system: whether to show all charts of the machine, instead of the others.
   * @param {{store: Store, choices: Choices, paint: () => Paint, open: MarksMenu["open"], pointed: (step: number | null) => void, chosen: (step: number) => unknown, system?: boolean}} panel
   */
  constructor(panel) {
    this.panel = panel;
    this.syncKey = `nbtrain-${grids++}`;
    /** @type {Map<string, {chart: Chart, shows: string}>} */
    this.charts = new Map(); // by tag; shows: the state of its lines and marks that is drawn
    /** @type {string[]} */
    this.order = []; // the tags, as their charts stand
    this.grid = el("div", { class: "nbt-grid" });
    this.more = button({ class: "nbt-more", "data-act": "more-charts" }, () =>
      panel.choices.choose({ all: !panel.choices.values.all }),
    );
    this.axis = new XAxis("step", { began: 0, epochs: [] });
    this.room = 0; // pixels of all charts
    this.width = 0; // the width that the charts were fitted to
    this.handle = el("div", {
      class: "nbt-handle",
      role: "separator",
      tabindex: 0,
      title:
        "Drag or press the arrow keys to change the height of the charts; double-click to reset it",
      "aria-label": "height of the charts",
      "aria-orientation": "horizontal",
      "aria-valuemin": LEAST,
      "data-role": "height",
    });
    this.#makeHandle();
    this.tools = new AxisTools(this.drawing, (changes) => panel.choices.choose(changes), AXES);
    const foot = el("div", {
      class: "nbt-foot",
      children: [this.more, this.handle, this.tools.root],
    });
    this.values = new Popover("values");
    const children = [this.grid, ...(panel.system ? [] : [foot]), this.values.root];
    this.root = el("div", { class: "nbt-charts", children });
    this.size = new ResizeObserver(() => this.#resized());
    this.size.observe(this.grid);
  }

  // The options of drawing. A run without epochs is drawn over its steps.
  get drawing() {
    const { values } = this.panel.choices;
    const x = values.x === "epoch" && this.#noEpochs ? "step" : values.x;
    return { ...values, x, logX: values.logX && x !== "wall" };
  }

  // The reason why epochs cannot be the axis; null if they can.
  get #noEpochs() {
    const { epochs = [], line = [] } = this.panel.store.status;
    if (epochs.length > 1) return null;
    return line.some(([label]) => label === "epoch") ? NO_LENGTH : NO_EPOCHS;
  }

  /** @param {(chart: Chart) => void} act */
  each(act) {
    for (const { chart } of this.charts.values()) act(chart);
  }

  repaint() {
    this.each((chart) => chart.repaint());
  }

  /**
   * Shows the new data; draws the charts only while they are visible.
   * @param {Status["last"]} [last]
   * @param {boolean} [visible]
   */
  draw(last = {}, visible = true) {
    const { store, system = false } = this.panel;
    const charts = store.charts.filter(([{ tag }]) => tag.startsWith(SYSTEM) === system);
    this.#keep(charts.map(([{ tag }]) => tag));
    for (const [{ tag }] of charts) if (!this.charts.has(tag)) this.#add(tag);
    this.root.hidden = !charts.length;
    Object.assign(this.tools.options, this.drawing);
    this.tools.refuse("epoch", this.#noEpochs);
    this.tools.show();
    const { epochs = [] } = store.status;
    this.axis = new XAxis(this.drawing.x, { began: startTime(store.curves), epochs });
    this.#arrange(charts.map(([{ tag }]) => tag));
    this.#fit();
    for (const lines of charts) this.#draw(lines, last, visible);
  }

  /**
   * Moves the cursor of all charts to a step that was completed at a time.
   * @param {number} step
   * @param {number} [wall]
   */
  pointAt(step, wall = NaN) {
    const drawn = [...this.charts.values()].map(({ chart }) => chart).filter(({ plot }) => plot);
    const chart = drawn.find(({ root }) => !root.hidden) ?? drawn[0];
    const left = chart?.plot?.valToPos(this.axis.at(step, wall), "x") ?? NaN;
    if (Number.isFinite(left)) chart.pointTo(left); // a line of the log may have no time
  }

  close() {
    this.size.disconnect();
    this.each((chart) => chart.destroy());
  }

  /**
   * Removes charts without a tag, such as a validation's once its scalar has a chart.
   * @param {string[]} tags
   */
  #keep(tags) {
    for (const [tag, { chart }] of this.charts) {
      if (tags.includes(tag)) continue;
      chart.destroy();
      chart.root.remove();
      this.charts.delete(tag);
    }
  }

  /**
   * Places pinned charts before the others. A moved chart keeps the focus.
   * @param {string[]} tags
   */
  #arrange(tags) {
    const pinned = this.panel.choices.values.pins.filter((tag) => tags.includes(tag));
    const order = [...pinned, ...tags.filter((tag) => !pinned.includes(tag))];
    if (order.join("\n") === this.order.join("\n")) return;
    this.order = order;
    const focused = focusedIn(this.grid);
    this.grid.append(...order.map((tag) => get(this.charts, tag).chart.root));
    focused?.focus({ preventScroll: true });
  }

  /** @param {string} tag */
  #add(tag) {
    const { paint, open, choices, pointed, chosen } = this.panel;
    const toggleLog = () => choices.toggle("logs", tag);
    const togglePin = () => choices.toggle("pins", tag);
    const toggleOutliers = () => choices.toggle("outliers", tag);
    const showTable = () => this.#showTable(tag);
    const clicks = { toggleLog, togglePin, toggleOutliers, showTable };
    const act = { open, pointed, chosen };
    const chart = new Chart({ tag, syncKey: this.syncKey, paint, act, clicks });
    this.charts.set(tag, { chart, shows: "" });
  }

  /** @param {string} tag */
  #showTable(tag) {
    const { chart } = get(this.charts, tag);
    const label = `values of ${tag}`;
    this.values.root.replaceChildren(scroller("nbt-values", label, [chart.table()]));
    this.values.open(chart.head.table, label);
  }

  /**
   * @param {TagLine[]} lines
   * @param {Status["last"]} last
   * @param {boolean} visible
   */
  #draw(lines, last, visible) {
    const { store } = this.panel;
    const shown = get(this.charts, lines[0].tag);
    const { smooth, x, logX, logs, outliers, pins } = this.drawing;
    const log = logs.includes(lines[0].tag);
    const all = outliers.includes(lines[0].tag);
    const changed = lines.map(({ tags }) => store.changedAt(...tags));
    const shows = [...changed, store.markedAt, smooth, log, all, logX, this.axis.key].join();
    shown.chart.head.show({ log, pinned: pins.includes(lines[0].tag) });
    shown.chart.head.outliers.show(all);
    shown.chart.head.showLast(
      lines.map((line) => ({
        ...line,
        last: last[store.newest(...line.tags)],
        abandoned: isAbandoned(store.of(...line.tags)),
      })),
    );
    if (!visible || shown.shows === shows) return;
    shown.shows = shows;
    Object.assign(shown.chart, { smooth, log, x, logX, arms: armsOf(store.marks) });
    if (!this.panel.system) this.#showBest(shown.chart, lastOf(lines));
    shown.chart.draw(
      lines.map((line) => ({
        ...line,
        last: last[store.newest(...line.tags)],
        curves: store.of(...line.tags).map((curve) => this.axis.curve(curve)),
      })),
      store.marks.map((mark) => this.axis.mark(mark)),
    );
  }

  /**
   * @param {Chart} chart
   * @param {TagLine} line its last one
   */
  #showBest(chart, { tag, tags, validates }) {
    const { store } = this.panel;
    const higher = store.status.higher?.[tag];
    const found =
      higher === undefined
        ? null
        : best(store.of(...tags), { higher, last: store.status.step ?? 0 });
    chart.head.showBest(found, { tag, validates, higher });
  }

  // Shows as many charts as fit, and sets their height.
  #fit() {
    const { system, choices } = this.panel;
    const { height, all } = system ? { height: null, all: true } : choices.values;
    const count = this.charts.size;
    const columns = columnsOf(count, this.grid.clientWidth);
    this.grid.style.columnGap = `${APART}px`;
    this.grid.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
    const { shown, plot } = fitted(count, { columns, height, all });
    const more = count - fitted(count, { columns, height }).shown;
    this.more.hidden = !more;
    this.more.textContent = all ? "Fewer charts" : `${more} more chart${more === 1 ? "" : "s"}`;
    this.more.setAttribute("aria-expanded", String(all));
    this.room = height ?? roomOf(count, columns);
    this.handle.setAttribute("aria-valuenow", String(this.room));
    this.order.forEach((tag, i) => {
      const { chart } = get(this.charts, tag);
      chart.room = plot;
      chart.root.hidden = i >= shown;
      chart.resize();
    });
  }

  #resized() {
    const { clientWidth } = this.grid;
    if (clientWidth === this.width) return; // #fit has changed the height
    this.width = clientWidth;
    this.#fit();
  }

  #makeHandle() {
    const { choices } = this.panel;
    /** @param {number} height */
    const choose = (height) => choices.choose({ height: Math.max(LEAST, Math.round(height)) });
    this.handle.addEventListener("pointerdown", (event) => {
      const start = this.grid.offsetHeight - event.clientY;
      this.handle.setPointerCapture(event.pointerId);
      this.handle.onpointermove = ({ clientY }) => choose(start + clientY);
    });
    const end = () => {
      this.handle.onpointermove = null;
    };
    for (const kind of ["pointerup", "pointercancel"]) this.handle.addEventListener(kind, end);
    this.handle.addEventListener("dblclick", () => choices.choose({ height: null }));
    this.handle.addEventListener("keydown", (event) => {
      const by = { ArrowUp: -BY_KEY, ArrowDown: BY_KEY }[event.key];
      if (!by && event.key !== "Home") return;
      event.preventDefault();
      event.stopPropagation(); // not a command of the notebook
      if (by) choose(this.room + by);
      else choices.choose({ height: null });
    });
  }
}
