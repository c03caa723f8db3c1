// The lines of a logarithmic axis, and which of them have a label. Uses no DOM.

import { lastOf } from "./collections.js";

const EVENLY = 5; // about as many lines has a range shorter than a decade

/**
 * The multiples 1 to 9 of each decade between two positive numbers; even steps in a range shorter than a
 * decade; if there are more than `most` decades, only the start of every second or third one.
 * @param {number} min
 * @param {number} max
 * @param {number} [most]
 */
export function logPlaces(min, max, most = Infinity) {
  if (!(min > 0)) return [];
  const [low, high] = [min, max].map(Math.log10);
  if (high - low < 1) return evenly(min, max);
  const each = Math.max(1, Math.ceil((high - low) / most));
  const digits = each > 1 ? [1] : [1, 2, 3, 4, 5, 6, 7, 8, 9];
  const found = [];
  for (let power = Math.floor(Math.floor(low) / each) * each; power <= high; power += each) {
    found.push(...digits.map((n) => Number(`${n}e${power}`)));
  }
  return found.filter((place) => place >= min && place <= max);
}

/**
 * Returns whether a line has a label: of many lines, only those that begin a decade.
 * @param {number[]} places
 * @param {number} i
 */
export function isNamed(places, i) {
  const first = places[i].toExponential()[0];
  const decades = Math.log10(lastOf(places)) - Math.log10(places[0]);
  return decades < 1 || first === "1" || (decades < 3 && "25".includes(first));
}

/**
 * About five round numbers in a range.
 * @param {number} min
 * @param {number} max
 */
export function evenly(min, max) {
  const about = (max - min) / EVENLY;
  const unit = 10 ** Math.floor(Math.log10(about));
  const step = ([1, 2, 5, 10].find((n) => n * unit >= about) ?? 10) * unit;
  const first = Math.ceil(min / step);
  return Array.from({ length: Math.floor(max / step) - first + 1 }, (_, i) =>
    Number(((first + i) * step).toPrecision(12)),
  );
}
