// The buckets of the curves of one tag: which of them count, and their values at a step.

import { lastOf } from "./collections.js";

/**
 * A curve of one tag and one segment: buckets of `stride` steps each.
 * @typedef {object} Curve
 * @property {string} tag
 * @property {number} segment
 * @property {boolean} abandoned
 * @property {number} stride
 * @property {number} seq the message that last changed it
 * @property {number[]} x the steps of the first points, or their places on another axis: see x_axis.js
 * @property {number[]} [steps] the steps, if `x` has the places on another axis
 * @property {number[]} wall the times of the first points, in seconds since the epoch
 * @property {number[]} mean the mean of the finite values of each bucket; NaN if it has none
 * @property {number[]} lo
 * @property {number[]} hi
 * @property {UnseenCounts[]} unseen
 */

/**
 * How many values of a bucket are NaN, ∞ and −∞; null if all are finite.
 * @typedef {[nan: number, above: number, below: number] | null} UnseenCounts
 */

/**
 * Values that no line can show.
 * @typedef {"NaN" | "∞" | "−∞" | "≤ 0"} Unseen
 */

/**
 * Values of one kind in a bucket; count: undefined if it is unknown.
 * @typedef {{kind: Unseen, count: number | undefined}} UnseenKind
 */

/**
 * The unseen values of a bucket, and its place.
 * @typedef {UnseenKind & {x: number, abandoned: boolean}} UnseenBucket
 */

/**
 * @typedef {object} Bucket
 * @property {number} x its place on the axis
 * @property {number} step
 * @property {number} wall
 * @property {number} mean the mean of its finite values; NaN, ∞ or −∞ if there are none
 * @property {number} lo
 * @property {number} hi
 * @property {Unseen[]} also the kinds of the other values in it
 * @property {boolean} abandoned
 * @property {number} [smooth] the smoothed value, if it is shown
 */

/**
 * Columns of a curve, by bucket.
 * @typedef {{mean: ArrayLike<number>, lo: ArrayLike<number>, hi: ArrayLike<number>, unseen?: UnseenCounts[], stride?: number}} Values
 */

/** @type {Unseen[]} */
const KINDS = ["NaN", "∞", "−∞"]; // in the order of the counts
/** @type {Record<string, number>} */
const VALUES = { NaN, "∞": Infinity, "−∞": -Infinity };

/**
 * Divides curves into those that count and the tails that a restore abandoned; newest last.
 * @param {Curve[]} curves
 */
export function divided(curves) {
  const found = curves.filter(({ x }) => x.length);
  return {
    kept: found.filter(({ abandoned }) => !abandoned),
    tails: found.filter(({ abandoned }) => abandoned),
  };
}

/**
 * Returns whether all of these curves are abandoned.
 * @param {Curve[]} curves
 */
export function isAbandoned(curves) {
  const { kept, tails } = divided(curves);
  return tails.length > 0 && !kept.length;
}

/**
 * The values that no line can show, by bucket and kind, in the order of their places.
 * @param {(Values & {x: number[], abandoned?: boolean})[]} curves
 * @param {{log?: boolean}} [how]
 */
export function marks(curves, { log = false } = {}) {
  /** @type {UnseenBucket[]} */
  const found = [];
  for (const curve of curves) {
    const { abandoned = false } = curve;
    for (const [i, x] of curve.x.entries())
      for (const unseen of unseenOf(curve, i, log)) found.push({ x, ...unseen, abandoned });
  }
  return found.sort((one, other) => one.x - other.x);
}

/**
 * The bucket to show at a place: that of a curve that counts and reaches there, else the nearest.
 * @param {Curve[]} curves
 * @param {number} place
 */
export function bucketAt(curves, place) {
  const { kept, tails } = divided(curves);
  /** @type {{curve: Curve, i: number, distance: number} | null} */
  let best = null;
  for (const curve of [...kept.reverse(), ...tails.reverse()]) {
    const i = nearest(curve.x, place);
    const distance = Math.abs(curve.x[i] - place);
    const within = !curve.abandoned && curve.x[0] <= place && place <= lastOf(curve.x);
    if (within || !best || distance < best.distance) best = { curve, i, distance };
    if (within) break;
  }
  return best && bucket(best);
}

/**
 * The latest bucket up to a place, of the curves that count; with `abandoned`, of all curves.
 * @param {Curve[]} curves
 * @param {number} place
 * @param {{abandoned?: boolean}} [how]
 */
export function bucketUpTo(curves, place, { abandoned = false } = {}) {
  const { kept, tails } = divided(curves);
  let best = null;
  for (const curve of abandoned ? [...kept, ...tails] : kept) {
    const i = countUpTo(curve.x, place) - 1;
    if (i >= 0 && !(best && best.curve.x[best.i] > curve.x[i])) best = { curve, i };
  }
  return best && bucket(best);
}

/**
 * @param {{curve: Curve, i: number}} place
 * @returns {Bucket}
 */
function bucket({ curve, i }) {
  const { x, steps = x, wall, lo, hi, abandoned } = curve;
  const at = { x: x[i], step: steps[i], wall: wall?.[i] };
  return { ...at, ...valueOf(curve, i), lo: lo[i], hi: hi[i], abandoned };
}

/**
 * The mean of a bucket's finite values, or NaN, ∞ or −∞ if there are none; and its other kinds of values.
 * @param {Values} curve
 * @param {number} i
 */
export function valueOf(curve, i) {
  const mean = curve.mean[i];
  const kinds = unseenOf(curve, i).map(({ kind }) => kind);
  if (Number.isFinite(mean) || !kinds.length) return { mean, also: kinds };
  return { mean: VALUES[kinds[0]], also: kinds.slice(1) };
}

/**
 * The values of a bucket that no line can show, by kind.
 * @param {Values} curve
 * @param {number} i
 * @param {boolean} [log]
 * @returns {UnseenKind[]}
 */
export function unseenOf({ mean, lo, hi, unseen, stride = 1 }, i, log = false) {
  const counts = unseen?.[i] ?? [];
  const found = KINDS.map((kind, at) => ({ kind, count: counts[at] })).filter(({ count }) => count);
  const other = found.length ? null : tooLarge(lo[i], hi[i], mean[i]);
  const kind = other ?? (log && mean[i] <= 0 ? "≤ 0" : null);
  return kind ? [...found, { kind, count: stride > 1 ? undefined : 1 }] : found;
}

/**
 * The kind shown for finite values that are too large for the float32 of a message.
 * @param {number} lo
 * @param {number} hi
 * @param {number} mean
 * @returns {Unseen | null}
 */
function tooLarge(lo, hi, mean) {
  if (hi === Infinity) return "∞";
  if (lo === -Infinity) return "−∞";
  return Number.isNaN(mean) ? "NaN" : null;
}

/**
 * Reads rows of a bucket's index and the number of its values that are NaN, ∞ and −∞.
 * @param {Uint32Array | Float64Array} rows
 * @returns {Map<number, UnseenCounts>}
 */
export function countsIn(rows) {
  /** @type {Map<number, UnseenCounts>} */
  const found = new Map();
  for (let i = 0; i < rows.length; i += 4)
    found.set(rows[i], [rows[i + 1], rows[i + 2], rows[i + 3]]);
  return found;
}

/**
 * The best value of the curves that count, {value, from, to}: it lies between these steps, which are
 * equal if its step is known.
 * @param {Curve[]} curves
 * @param {{higher: boolean, last: number}} how whether the best value is the highest; the run's last step
 */
export function best(curves, { higher, last }) {
  const { kept } = divided(curves);
  let found = null;
  for (const curve of kept) {
    const { x, lo, hi } = curve;
    const values = higher ? hi : lo;
    for (let i = 0; i < x.length; i++) {
      const value = values[i];
      if (
        !Number.isFinite(value) ||
        (found && !(higher ? value > found.value : value < found.value))
      )
        continue;
      found = { value, from: x[i], to: endOf(curve, i, kept, last) };
    }
  }
  return found;
}

/**
 * The last step that a bucket may contain: it ends before the next one of all curves.
 * @param {Pick<Curve, "x" | "stride">} curve
 * @param {number} i
 * @param {Pick<Curve, "x">[]} kept
 * @param {number} last the last step of the run
 */
function endOf({ x, stride = 1 }, i, kept, last) {
  if (stride <= 1) return x[i];
  const begins = i + 1 < x.length ? [x[i + 1]] : kept.map((curve) => curve.x[0]);
  return Math.max(x[i], Math.min(last + 1, ...begins.filter((step) => step > x[i])) - 1);
}

/**
 * @param {ArrayLike<number>} sorted
 * @param {number} value
 */
export function countUpTo(sorted, value) {
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (sorted[middle] <= value) from = middle + 1;
    else to = middle;
  }
  return from;
}

/**
 * @param {ArrayLike<number>} sorted
 * @param {number} value
 */
export function nearest(sorted, value) {
  const right = countUpTo(sorted, value);
  if (right === 0 || right === sorted.length) return Math.max(0, right - 1);
  return value - sorted[right - 1] <= sorted[right] - value ? right - 1 : right;
}
