// Which rows of a table are meant, by the values of their columns. Knows no page.

import { isNumeric, sorted } from "./cells.js";

/** @import { Domain, Filter, Value } from "../../types.d.ts" */

/**
 * What can be chosen of a column: {low, high} of numbers, {values} of anything else.
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
 * Whether a value is chosen. A choice is {low, high}, each a number or null where it is open, or
 * {without}: the set of values that are not; null where every value is.
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

/**
 * The number that somebody wrote; null for none, undefined for what is no number.
 * @param {string} text
 */
export function written(text) {
  const value = text.trim() === "" ? null : Number(text);
  return Number.isNaN(value) ? undefined : value;
}
