// The places of a slider and the values that they stand for, and values as texts. Uses no DOM.

/** @import { Scale } from "../protocol.d.ts" */

/**
 * The places of a slider, whole numbers from 0 to last.
 * @typedef {object} Places
 * @property {number} last
 * @property {(place: number) => number} valueAt
 * @property {(value: number) => number} placeOf
 */

const PER_DECADE = 20; // each place is 12 % more than the one before, and differs from it in two digits
const EACH = 200; // up to so many whole numbers have a place each

/**
 * kind: "log", "linear" or "whole"; places are whole numbers from 0 to last.
 * @param {number} lowest
 * @param {number} highest
 * @param {Scale} kind
 * @returns {Places}
 */
export function places(lowest, highest, kind) {
  return kind === "log" ? decades(lowest, highest) : even(lowest, highest, kind === "whole");
}

/**
 * @param {number} lowest
 * @param {number} highest
 * @returns {Places}
 */
function decades(lowest, highest) {
  const last = Math.max(1, Math.round(PER_DECADE * Math.log10(highest / lowest)));
  /** @param {number} place */
  const inside = (place) => Math.min(last, Math.max(0, place));
  return {
    last,
    valueAt: (place) =>
      place >= last ? highest : Number((lowest * 10 ** (place / PER_DECADE)).toPrecision(2)),
    placeOf: (value) =>
      value > lowest ? inside(Math.round(PER_DECADE * Math.log10(value / lowest))) : 0,
  };
}

/**
 * @param {number} lowest
 * @param {number} highest
 * @param {boolean} whole
 * @returns {Places}
 */
function even(lowest, highest, whole) {
  const span = highest - lowest || 1;
  const step = 10 ** (Math.ceil(Math.log10(span)) - 2);
  const width = whole && span <= EACH ? 1 : step;
  const last = Math.max(1, Math.round(span / width));
  return {
    last,
    valueAt: (place) => Number((lowest + place * width).toPrecision(12)),
    placeOf: (value) => Math.min(last, Math.max(0, Math.round((value - lowest) / width))),
  };
}

/**
 * A value in at most `most` characters: all its digits, or as many as fit.
 * @param {number | string} value
 * @param {number} most
 */
export function brief(value, most) {
  if (typeof value !== "number" || exact(value).length <= most) return exact(value);
  for (let digits = most; digits > 0; digits--) {
    const rounded = Number(value.toPrecision(digits));
    const text = [exact(rounded), rounded.toExponential()].find(({ length }) => length <= most);
    if (text) return text;
  }
  return value.toExponential(0);
}

/**
 * A value with all its digits: "0.001", "1e-5", "0.85", "1e+15".
 * @param {number | string} value
 */
export function exact(value) {
  if (typeof value !== "number") return String(value);
  const size = Math.abs(value);
  return (value !== 0 && size < 1e-4) || (size >= 1e10 && size < Infinity)
    ? value.toExponential()
    : String(value);
}
