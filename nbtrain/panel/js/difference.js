// What tells runs apart: values that differ, and by how much. Knows no page.

import { number } from "./words.js";

// Whether the values of some runs differ; one that is missing differs from one that is there.
export function differs(values) {
  return values.some((value) => !Object.is(value, values[0]));
}

// By how much a value lies over another: "+0.05, +10 %"; "" where one of them is no number.
export function difference(value, base) {
  if (!Number.isFinite(value) || !Number.isFinite(base)) return "";
  const more = value - base;
  if (more === 0) return "±0";
  const part = base === 0 ? "" : `, ${signed(100 * (more / Math.abs(base)), (n) => `${Number(n.toPrecision(2))} %`)}`;
  return signed(more, number) + part;
}

function signed(value, text) {
  return `${value < 0 ? "−" : "+"}${text(Math.abs(value))}`;
}
