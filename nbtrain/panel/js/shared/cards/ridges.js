// Histograms as lines that a chart can draw. Uses no DOM.

import { countUpTo } from "../buckets.js";
import { lastOf } from "../collections.js";

/** @import { Columns } from "../columns.js" */

const ROWS = 7; // rows that the highest ridge covers
const LEAST = 0.22; // the least height of the highest ridge among many, as a part of the whole

/**
 * Returns {data, order, bases, rise}: uPlot's columns, the histogram and the base of each, and the
 * height of the highest. A ridge stands at its step and rises towards lower steps; with overlay
 * all stand at zero. The marked one is drawn last, as stairs.
 * @param {{edges: Float64Array, counts: Float64Array[], steps: number[], marked: number, overlay: boolean}} histograms
 */
export function ridges({ edges, counts, steps, marked, overlay }) {
  const most = Math.max(...counts.map((row) => Math.max(...row))) || 1;
  const span = lastOf(steps) - steps[0] || 1;
  const rise = overlay ? most : span * Math.max(LEAST, Math.min(1, ROWS / steps.length));
  const order = [...counts.keys()].filter((i) => i !== marked).concat(marked);
  const bases = order.map((i) => (overlay ? 0 : steps[i]));
  const lines = order.map((i) => (i === marked ? stairs : slopes)(counts[i]));
  const placed = lines.map((line, i) =>
    line.map((count) =>
      count === null ? null : overlay ? count : bases[i] - (count / most) * rise,
    ),
  );
  /** @type {Columns} */
  const data = [halves(edges), ...placed];
  return { data, order, bases, rise };
}

/**
 * Returns the edges and the midpoints between them.
 * @param {Float64Array} edges
 */
function halves(edges) {
  return Array.from(
    { length: 2 * edges.length - 1 },
    (_, i) => (edges[i >> 1] + edges[(i + 1) >> 1]) / 2,
  );
}

/**
 * @param {Float64Array} row
 * @returns {(number | null)[]}
 */
function stairs(row) {
  return [...Array.from(row).flatMap((count) => [count, count]), lastOf(row)];
}

/**
 * A line from midpoint to midpoint, with gaps at empty bins.
 * @param {Float64Array} row
 */
function slopes(row) {
  /** @param {number} i */
  const at = (i) => row[i] ?? 0;
  const line = Array.from({ length: 2 * row.length + 1 }, (_, i) =>
    i % 2 ? at(i >> 1) : (at(i / 2 - 1) + at(i / 2)) / 2,
  );
  return line.map((count, i) => (count || line[i - 1] || line[i + 1] ? count : null));
}

/**
 * The bin that holds a value, or the nearest bin for a value outside of all.
 * @param {Float64Array} edges
 * @param {number} value
 */
export function binAt(edges, value) {
  return Math.min(edges.length - 2, Math.max(0, countUpTo(edges, value) - 1));
}
