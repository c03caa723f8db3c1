// The texts, the order and the differences of a table's values. Uses no DOM.
// A value is a number, a text, true or false, or null for none.

import { number } from "../../shared/format.js";

/** @import { Cell } from "../../protocol.d.ts" */

/**
 * A cell of a table; null without a value.
 * @typedef {number | string | boolean | null} Value
 */

const NUMBER = /([0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)/;
const BEGINS = /^[=+\-@\t\r\n]/; // the start of a text that a spreadsheet would read as a formula

/**
 * The value of a cell: a number that JSON lacks comes as {float: "NaN"}.
 * @param {Cell} value
 * @returns {Value}
 */
export function decoded(value) {
  if (value === null || typeof value !== "object") return /** @type {Value} */ (value);
  return Number(value.float);
}

/**
 * A value in few digits; `whole` has all of them.
 * @param {Value} value
 */
export function shown(value) {
  if (value === null) return "–";
  if (typeof value !== "number" || Number.isInteger(value)) return whole(value);
  return Number.isFinite(value) ? String(Number(value.toPrecision(6))) : whole(value);
}

/** @param {Value} value */
export function whole(value) {
  if (value === null) return "";
  if (typeof value !== "number" || Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞";
}

/**
 * Returns whether a column has numbers, and nothing else.
 * @param {Value[]} values
 */
export function isNumeric(values) {
  const there = values.filter((value) => value !== null);
  return there.length > 0 && there.every((value) => typeof value === "number");
}

/**
 * Sorts rows by their values: numbers before texts, NaN and missing values last in both
 * directions. Equal rows keep their order.
 * @template Row
 * @param {Row[]} rows
 * @param {(row: Row) => Value} valueOf
 * @param {boolean} [down]
 */
export function sorted(rows, valueOf, down = false) {
  const keyed = rows.map((row) => ({ row, value: valueOf(row) }));
  keyed.sort((one, other) => {
    const place = absence(one.value) - absence(other.value);
    return place || (down ? -1 : 1) * order(one.value, other.value);
  });
  return keyed.map(({ row }) => row);
}

/**
 * Comma-separated values by RFC 4180. A text that a spreadsheet would read as a formula gets an
 * apostrophe, so that it cannot run there.
 * @param {Value[][]} rows
 */
export function csv(rows) {
  /** @param {Value} value */
  const field = (value) => {
    const text = typeof value === "string" && BEGINS.test(value) ? `'${value}` : whole(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => `${row.map(field).join(",")}\r\n`).join("");
}

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

/** @param {Value} value */
function absence(value) {
  return value === null ? 2 : Number.isNaN(value) ? 1 : 0;
}

/**
 * @param {Value} one
 * @param {Value} other
 */
function order(one, other) {
  if (typeof one === "number" && typeof other === "number")
    return one < other ? -1 : Number(one > other);
  if (typeof one === "number") return -1;
  if (typeof other === "number") return 1;
  return natural(String(one), String(other));
}

/**
 * The order of two texts by the numbers in them, as in core/text/natural.py: 3e-4 before 0.01.
 * @param {string} one
 * @param {string} other
 */
function natural(one, other) {
  const [parts, others] = [one.split(NUMBER), other.split(NUMBER)];
  for (let i = 0; i < Math.min(parts.length, others.length); i++) {
    const isNumber = i % 2 === 1;
    const difference = isNumber
      ? Number(parts[i]) - Number(others[i])
      : parts[i].localeCompare(others[i], "en");
    if (difference) return difference;
  }
  return parts.length - others.length || one.localeCompare(other, "en");
}

/**
 * @param {number} value
 * @param {(size: number) => string} text
 */
function signed(value, text) {
  return `${value < 0 ? "-" : "+"}${text(Math.abs(value))}`;
}
