// The values or words at the cursor of a chart, in a box below it, or above it without room: it covers none
// of the curves. On a chart as high as the window, it is on the side without the cursor.

import { el } from "./dom.js";
import { cursorOf } from "./plot.js";

/** @import uPlot from "uplot" */

const GAP = 4; // pixels to the chart, and to the sides of the window

export class Tip {
  /** @param {string} role what it contains */
  constructor(role) {
    // Above the page, because a cell cuts off what is outside of it.
    this.root = el("div", { class: "nbt-tip", popover: "manual", "data-role": role });
    /** @param {Event} event */
    this.scrolled = ({ target }) =>
      target instanceof Node && target.contains(this.root) && this.hide();
  }

  get isShown() {
    return this.root.matches(":popover-open");
  }

  hide() {
    if (this.isShown) this.root.hidePopover();
    document.removeEventListener("scroll", this.scrolled, true);
  }

  /**
   * Shows nodes until the page is scrolled; hides the box without nodes.
   * @param {Node[]} nodes
   * @param {uPlot} u
   */
  show(nodes, u) {
    this.root.replaceChildren(...nodes);
    const chart = u.root.getBoundingClientRect();
    const plot = u.over.getBoundingClientRect();
    const isInSight = plot.bottom > 0 && plot.top < innerHeight;
    if (!nodes.length || !isInSight || !this.root.isConnected) return this.hide();
    this.root.showPopover();
    document.addEventListener("scroll", this.scrolled, true);
    const { offsetWidth: width, offsetHeight: height } = this.root;
    const { left } = cursorOf(u);
    const [over, under] = [chart.top - GAP - height, chart.bottom + GAP];
    const fits = under + height <= innerHeight;
    if (fits || over >= 0) this.#place(plot.left + left - width / 2, fits ? under : over);
    else this.#place(left > plot.width / 2 ? plot.left : plot.right - width, plot.top);
  }

  /**
   * @param {number} left
   * @param {number} top
   */
  #place(left, top) {
    const { offsetWidth: width, offsetHeight: height, style } = this.root;
    style.left = `${Math.max(GAP, Math.min(left, innerWidth - width - GAP))}px`;
    style.top = `${Math.max(GAP, Math.min(top, innerHeight - height - GAP))}px`;
  }
}
