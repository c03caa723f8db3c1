// Filters of a table's rows by the values of a column. Uses no DOM.

import { isNumeric, sorted } from "./cells.js";

/** @import { Value } from "./cells.js" */

/**
 * The values of a column that can be chosen.
 * @typedef {{low: number, high: number} | {values: Value[]}} Domain
 */

/**
 * The filter of a column. null: an open end; without: the excluded values.
 * @typedef {{low: number | null, high: number | null} | {without: Set<Value>}} Filter
 */

/**
 * The choices for a column: {low, high} for numbers, {values} for anything else.
 * @param {Value[]} values
 * @returns {Domain}
 */
export function domainOf(values) {
  const numbers = values.filter(Number.isFinite).map(Number);
  if (numbers.length && isNumeric(values))
    return { low: Math.min(...numbers), high: Math.max(...numbers) };
  return { values: sorted([...new Set(values)], (value) => value) };
}

/**
 * Returns whether a value matches a filter; without a filter, every value does.
 * @param {Value} value
 * @param {Filter | null | undefined} choice
 */
export function chosen(value, choice) {
  if (!choice) return true;
  if ("without" in choice) return !choice.without.has(value);
  const { low, high } = choice;
  if (low === null && high === null) return true;
  return (
    typeof value === "number" && (low === null || value >= low) && (high === null || value <= high)
  );
}
