// A uPlot chart in its host: created when there is room for it, resized with it, and read with the
// pointer or the arrow keys.

import uPlot from "uplot";
import { el, say } from "./dom.js";
import { cursorOf, moveByKey, NOWHERE } from "./plot.js";
import { Tip } from "./tip.js";

/** @import { Options } from "../board/options.js" */
/** @import { Columns } from "./columns.js" */

/**
 * uPlot's options, without those that all charts have in common.
 * @typedef {Omit<uPlot.Options, "width" | "height" | "legend">} PlotOptions
 */

export class BaseChart {
  /**
   * @param {string} label
   * @param {Tip} [tip]
   */
  constructor(label, tip = new Tip("values")) {
    this.tip = tip;
    /** @type {uPlot | null} */
    this.plot = null;
    this.stale = false;
    this.drawn = ""; // the look of the plot
    this.spoken = el("div", { class: "nbt-spoken", role: "status", hidden: "" });
    this.host = el("div", {
      class: "nbt-plot",
      tabindex: 0,
      role: "group",
      "aria-label": label,
      children: [this.spoken],
    });
    this.host.addEventListener("keydown", (event) => this.#key(event));
    this.host.addEventListener("blur", (event) => this.leave(event));
  }

  // --- overridden by each kind of chart

  // The height in pixels.
  get height() {
    return 0;
  }

  // The state that a plot cannot change in place: the plot is created again if this differs.
  get look() {
    return "";
  }

  // Draws the current data.
  draw() {}

  /**
   * The nodes of the tip at a cursor.
   * @param {uPlot} _u
   * @returns {Node[]}
   */
  tipNodes(_u) {
    return [];
  }

  // The values at the cursor in words, announced after a key: not with the pointer or new data.
  get reading() {
    return [...this.tip.root.children].map(({ textContent }) => textContent).join(", ");
  }

  /**
   * Handles a key; returns whether the chart uses it.
   * @param {uPlot} u
   * @param {KeyboardEvent} event
   */
  press(u, event) {
    return moveByKey(u, event);
  }

  // --- the same for all charts

  get size() {
    const { clientWidth: width, clientHeight } = this.host;
    return { width, height: this.host.closest(":fullscreen") ? clientHeight : this.height };
  }

  // Returns whether there is room to draw. A hidden chart is drawn once it is shown.
  hasRoom() {
    this.stale = !this.host.clientWidth;
    return !this.stale;
  }

  /**
   * Makes the plot, and returns it. The cursor stays where it is.
   * @param {Columns} data
   * @param {PlotOptions} options without those of all charts
   */
  build(data, { hooks, ...options }) {
    const cursor = cursorOf(this.plot);
    this.destroy();
    this.drawn = this.look;
    /** @type {uPlot.Hooks.Arrays} */
    const all = {
      setCursor: [(u) => this.hover(u)],
      ready: [(u) => cursor.left >= 0 && u.setCursor(cursor)],
      ...hooks,
    };
    const own = { ...options, ...this.size, legend: { show: false }, hooks: all };
    const plot = new uPlot(own, data, this.host);
    plot.over.append(this.tip.root);
    this.plot = plot;
    return plot;
  }

  // Called when the room or the colours may have changed.
  resize() {
    const { size } = this;
    if (!size.width) return;
    if (!this.plot || this.stale || this.drawn !== this.look) this.draw();
    else if (this.plot.width !== size.width || this.plot.height !== size.height)
      this.plot.setSize(size);
  }

  destroy() {
    this.plot?.destroy();
    this.plot = null;
    this.tip.hide();
  }

  /** @param {uPlot} u */
  hover(u) {
    this.tip.show(cursorOf(u).left >= 0 ? this.tipNodes(u) : [], u);
  }

  /** @param {FocusEvent} [_event] */
  leave(_event) {
    this.plot?.setCursor(NOWHERE);
    say(this.spoken, "");
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (!this.plot || event.target !== this.host || !this.press(this.plot, event)) return;
    say(this.spoken, this.reading);
    event.preventDefault();
    event.stopPropagation(); // not a command of the notebook
  }
}
