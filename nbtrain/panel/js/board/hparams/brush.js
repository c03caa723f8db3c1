// Converts a brushed part of an axis to a filter of the table, and back.
// Uses no DOM.

import { numberAt, placeOfNumber } from "./value_axis.js";

/** @import { Value } from "../table/cells.js" */
/** @import { Filter } from "../table/choice.js" */
/** @import { ValueAxis } from "./value_axis.js" */

/**
 * The filter for a part of an axis, its ends in any order; null for the whole axis. It excludes values
 * without a place on the axis.
 * @param {ValueAxis} axis
 * @param {number} one
 * @param {number} other
 * @returns {Filter | null}
 */
export function filterOf(axis, one, other) {
  const [from, to] = [Math.min(one, other), Math.max(one, other)];
  if (from <= 0 && to >= 1) return null;
  if (axis.scale !== "values") {
    const low = from <= 0 ? null : numberAt(axis, from);
    const high = to >= 1 ? null : numberAt(axis, to);
    return { low, high };
  }
  const { size } = axis.places;
  /** @type {Set<Value>} */
  const without = new Set(axis.lacks ? [null] : []);
  for (const [value, i] of axis.places)
    if ((i + 1) / size <= from || i / size >= to) without.add(value);
  return without.size ? { without } : null;
}

/**
 * The parts of an axis that a filter includes, each [from, to]; none without a filter.
 * @param {ValueAxis} axis
 * @param {Filter | null | undefined} filter
 * @returns {[from: number, to: number][]}
 */
export function stretchesOf(axis, filter) {
  if (!filter) return [];
  if ("without" in filter) {
    const { size } = axis.places;
    /** @type {[number, number][]} */
    const found = [];
    for (const [value, i] of axis.places) {
      if (filter.without.has(value)) continue;
      const last = found.at(-1);
      if (last && last[1] === i / size) last[1] = (i + 1) / size;
      else found.push([i / size, (i + 1) / size]);
    }
    return found;
  }
  if (axis.scale === "values") return [];
  const { low, high } = filter;
  const from = low === null ? 0 : within(placeOfNumber(axis, low));
  const to = high === null ? 1 : within(placeOfNumber(axis, high));
  return from <= to ? [[from, to]] : [];
}

/** @param {number} place */
function within(place) {
  return Math.min(1, Math.max(0, place));
}
