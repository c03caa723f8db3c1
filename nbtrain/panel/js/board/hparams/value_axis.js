// The axis of a hyperparameter or a metric: the places of values, and the ticks. A place is a part of
// the axis, from 0 to 1. Uses no DOM.

import { isNumeric, shown, sorted, whole } from "../table/cells.js";
import { logTicks, ticks } from "../../shared/format.js";
import { evenly, isNamed, logPlaces } from "../../shared/log_places.js";

/** @import { Value } from "../table/cells.js" */

/**
 * The axis of a hyperparameter or a metric.
 * @typedef {object} ValueAxis
 * @property {"linear" | "log" | "values"} scale
 * @property {boolean} canLog whether a logarithmic scale is possible
 * @property {number} low the lower end of an axis of numbers
 * @property {number} high its upper end
 * @property {Map<Value, number>} places
 *   the values of an axis of other values, each with its number
 * @property {boolean} lacks whether a row has no value
 * @property {number[]} few the sorted numbers, if they are few
 */

const APART = 100; // ratio of the highest to the lowest value from which an axis starts as logarithmic
const FEW = 7; // up to so many numbers each have a tick of their own
const CLOSE = 0.045; // the least distance between two of them, as a part of the axis
const LETTER = 6.5; // pixels of a letter in a label
const GAP = 4; // pixels between two labels
const MOST = 12; // the most ticks of an axis of values that are not numbers

/**
 * Makes an axis. log: whether it is logarithmic if possible; undefined: if the values span decades.
 * @param {Value[]} values of all rows
 * @param {boolean} [log]
 * @returns {ValueAxis}
 */
export function axisOf(values, log) {
  const there = values.filter((value) => value !== null);
  const lacks = there.length < values.length;
  const numbers = there.filter(Number.isFinite).map(Number);
  if (!numbers.length || !isNumeric(values)) {
    const found = sorted([...new Set(there)], (value) => value);
    const places = new Map(found.map((value, i) => [value, i]));
    return { scale: "values", canLog: false, low: 0, high: found.length, places, lacks, few: [] };
  }
  const low = numbers.reduce((one, other) => Math.min(one, other));
  const high = numbers.reduce((one, other) => Math.max(one, other));
  const canLog = low > 0 && low < high;
  const scale = canLog && (log ?? high / low >= APART) ? "log" : "linear";
  const few = [...new Set(numbers)];
  if (few.length > FEW) few.length = 0;
  return { scale, canLog, low, high, places: new Map(), lacks, few: few.sort((a, b) => a - b) };
}

/**
 * The place of a value; null if it has none.
 * @param {ValueAxis} axis
 * @param {Value} value
 */
export function placeOf({ scale, low, high, places }, value) {
  if (scale === "values") {
    const i = places.get(value);
    return i === undefined ? null : (i + 0.5) / places.size;
  }
  if (typeof value !== "number" || !Number.isFinite(value)) return null;
  return placeOfNumber({ scale, low, high }, value);
}

/**
 * The place of a number on an axis of numbers; below 0 or above 1 beyond its ends.
 * @param {Pick<ValueAxis, "scale" | "low" | "high">} axis
 * @param {number} value
 */
export function placeOfNumber({ scale, low, high }, value) {
  if (low === high) return 0.5;
  if (scale === "log" && !(value > 0)) return 0;
  const [at, from, to] =
    scale === "log" ? [value, low, high].map(Math.log) : [value / 2, low / 2, high / 2]; // halves: their difference is finite
  return (at - from) / (to - from);
}

/**
 * The number at a place, rounded to about a thousandth of the axis.
 * @param {ValueAxis} axis
 * @param {number} place
 */
export function numberAt({ scale, low, high }, place) {
  const value =
    scale === "log"
      ? Math.exp(Math.log(low) * (1 - place) + Math.log(high) * place)
      : low * (1 - place) + high * place;
  const part = scale === "log" ? Math.abs(value) : high / 2 - low / 2;
  if (!value || !part) return value;
  const digits = 3 + Math.ceil(Math.log10(Math.abs(value) / part));
  return Number(value.toPrecision(Math.min(17, Math.max(1, digits))));
}

/**
 * The labels of the axis and their places.
 * @param {ValueAxis} axis
 * @returns {{place: number, text: string}[]}
 */
export function ticksOf(axis) {
  const { scale, low, high, places } = axis;
  if (scale === "values") {
    const each = Math.ceil(places.size / MOST);
    return [...places.keys()]
      .map((value, i) => ({ place: (i + 0.5) / places.size, text: whole(value) || "empty" }))
      .filter((_, i) => i % each === 0);
  }
  if (axis.few.length) return fewOf(axis);
  if (!Number.isFinite(high - low))
    return [low, high].map((value) => tickAt(axis, value, shown(value)));
  if (scale === "linear") {
    const values = evenly(low, high);
    const words = ticks(values);
    return values.map((value, i) => tickAt(axis, value, words[i]));
  }
  const values = logPlaces(low, high, MOST);
  const words = logTicks(values.map((value, i) => (isNamed(values, i) ? value : null)));
  return values.map((value, i) => tickAt(axis, value, words[i]));
}

/**
 * The ticks of a horizontal axis whose labels fit beside each other; powers of ten have precedence.
 * @param {{place: number, text: string}[]} all
 * @param {number} width of the axis in pixels
 */
export function fitting(all, width) {
  /** @type {typeof all} */
  const found = [];
  /** @param {{place: number, text: string}} tick */
  const add = (tick) => {
    const fits = found.every(
      (each) =>
        Math.abs(each.place - tick.place) * width >=
        (LETTER * (each.text.length + tick.text.length)) / 2 + GAP,
    );
    if (fits) found.push(tick);
  };
  /** @param {{text: string}} tick */
  const isPower = ({ text }) => Number(text).toExponential().startsWith("1e");
  all.filter(isPower).forEach(add);
  all.filter((tick) => !isPower(tick)).forEach(add);
  return found.sort((one, other) => one.place - other.place);
}

/**
 * The ticks of an axis of few numbers; those too close to another have no label.
 * @param {ValueAxis} axis
 */
function fewOf(axis) {
  let last = -Infinity;
  return axis.few.map((value) => {
    const { place } = tickAt(axis, value, "");
    const close = place - last < CLOSE;
    if (!close) last = place;
    return tickAt(axis, value, close ? "" : shown(value));
  });
}

/**
 * @param {ValueAxis} axis
 * @param {number} value
 * @param {string} text
 */
function tickAt(axis, value, text) {
  return { place: placeOfNumber(axis, value), text };
}
