// The cells of a table: what a value looks like, and which comes first. Knows no page.
// A value is a number, a text, true or false, or null where there is none.

/** @import { Cell } from "../../protocol.d.ts" */
/** @import { Value } from "../../types.d.ts" */

const BEGINS = /^[=+\-@\t\r\n]/; // of a text that a spreadsheet would take for a formula

/**
 * A value as it came: what JSON has no number for comes as {float: "NaN"}.
 * @param {Cell} value
 * @returns {Value}
 */
export function decoded(value) {
  if (value === null || typeof value !== "object") return /** @type {Value} */ (value);
  return Number(value.float);
}

/**
 * A value in the digits that tell it from others; `whole` has them all.
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
 * Whether a column is one of numbers: it has some, and nothing else.
 * @param {Value[]} values
 */
export function isNumeric(values) {
  const there = values.filter((value) => value !== null);
  return there.length > 0 && there.every((value) => typeof value === "number");
}

/**
 * Rows by their values: numbers as such and before texts, NaN and what is missing last, whatever
 * the direction; equal ones stay in their order.
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
 * Lines of comma-separated values, as RFC 4180 has them. A text that would be a formula in a
 * spreadsheet gets an apostrophe before it: nothing of a file may run there either.
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

/** @param {Value} value */
function absence(value) {
  return value === null ? 2 : Number.isNaN(value) ? 1 : 0;
}

/**
 * @param {Value} one
 * @param {Value} other
 */
function order(one, other) {
  const [left, right] = [one, other].map((value) => typeof value === "number");
  if (left && right) return one < other ? -1 : Number(one > other);
  if (left !== right) return left ? -1 : 1;
  return String(one).localeCompare(String(other), "en", { numeric: true });
}
