// Differences between the values of runs. Uses no DOM.

import { number } from "../../shared/format.js";

/**
 * The difference of a value from a base, such as "+0.05, +10 %"; "" if one is not a number.
 * @param {number} value
 * @param {number} base
 */
export function difference(value, base) {
  if (!Number.isFinite(value) || !Number.isFinite(base)) return "";
  const more = value - base;
  if (more === 0) return "±0";
  const part =
    base === 0
      ? ""
      : `, ${signed(100 * (more / Math.abs(base)), (n) => `${Number(n.toPrecision(2))} %`)}`;
  return signed(more, number) + part;
}

/**
 * @param {number} value
 * @param {(size: number) => string} text
 */
function signed(value, text) {
  return `${value < 0 ? "-" : "+"}${text(Math.abs(value))}`;
}
