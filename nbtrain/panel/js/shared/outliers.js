// Values so far from the others that the range of a chart leaves them out, and the button that shows them.

import { button } from "./dom.js";

/** @import uPlot from "uplot" */

/** @typedef {[min: number | null, max: number | null]} Ends null without values */
/** @typedef {{x: number, kind: "above" | "below"}} Outlier A place at which values are beyond the range. */

const EDGES = [0.05, 0.95]; // the middle of the values, as in TensorBoard
const FEW = 20; // values of which none is an outlier: nine tenths of so few say little
const FAR = 5; // times the width of the middle: with values further from it, it would be flat

/**
 * The least and the greatest of the values that are not far from their middle; null if none is.
 * @param {ArrayLike<number>} values finite, in any order
 * @returns {[number, number] | null}
 */
export function inner(values) {
  const sorted = Float64Array.from(values).sort();
  if (sorted.length <= FEW) return null;
  const last = sorted.length - 1;
  const [from, to] = [sorted[Math.ceil(EDGES[0] * last)], sorted[Math.floor(EDGES[1] * last)]];
  const far = FAR * (to - from);
  const near = sorted.filter((y) => y >= from - far && y <= to + far);
  return far && near.length < sorted.length ? [near[0], near[near.length - 1]] : null;
}

export class Outliers {
  all = false; // whether the range includes them

  /**
   * @param {string} tag
   * @param {() => void} toggle
   */
  constructor(tag, toggle) {
    const label = { text: "△", "aria-label": `outliers of ${tag}` };
    this.root = button({ ...label, hidden: "", "data-act": "outliers" }, toggle);
  }

  /** @param {boolean} all */
  show(all) {
    this.all = all;
    this.root.setAttribute("aria-pressed", String(all));
  }

  /**
   * The least and the greatest value to show.
   * @param {uPlot} u
   * @param {Ends} ends those of all values
   * @param {boolean} log
   * @returns {Ends}
   */
  range(u, ends, log) {
    const found = inner(visible(u).map(([, y]) => (log ? Math.log10(y) : y)));
    this.root.hidden = !found;
    if (!found || this.all) return ends;
    const [min, max] = found;
    return log ? [10 ** min, 10 ** max] : found;
  }

  /**
   * The places beyond the range, once it is set.
   * @param {uPlot} u
   * @returns {Outlier[]}
   */
  beyond(u) {
    const { min = -Infinity, max = Infinity } = u.scales.y;
    /** @type {Map<string, Outlier>} */
    const found = new Map();
    for (const [x, y] of this.root.hidden || this.all ? [] : visible(u)) {
      if (y >= min && y <= max) continue;
      const kind = y > max ? "above" : "below";
      found.set(`${kind} ${x}`, { x, kind });
    }
    if (!found.size && !this.all) this.root.hidden = true; // the room at the edges shows them
    const places = `${found.size} ${found.size === 1 ? "place" : "places"}`;
    this.root.dataset.places = String(found.size);
    this.root.title = this.all
      ? "Leave values that are far from the others out of the range"
      : `Values far from the others are left out at ${places} (△ ▽): show them`;
    return [...found.values()].sort((one, other) => one.x - other.x);
  }
}

/**
 * The points in the visible part of the axis, of the lines that set the scale.
 * @param {uPlot} u
 * @returns {[x: number, y: number][]}
 */
function visible({ data: [places, ...columns], series }) {
  /** @type {[number, number][]} */
  const found = [];
  for (const [i, column] of columns.entries()) {
    const { auto, idxs } = series[i + 1];
    if (!auto || !idxs) continue;
    for (let at = idxs[0]; at <= idxs[1]; at++) {
      const y = column[at];
      if (y != null) found.push([places[at], y]);
    }
  }
  return found;
}
