// The curves of one tag as uPlot's columns.

import { countUpTo, divided } from "./buckets.js";
import { smoothed, weightOf } from "./smoothing.js";
import { lastOf } from "./collections.js";

/** @import { Curve } from "./buckets.js" */
/** @import { Bytes } from "./connection.js" */

/**
 * uPlot's column: null is a gap, and undefined means no value at this step.
 * @typedef {(number | null | undefined)[]} Column
 */

/**
 * uPlot's columns.
 * @typedef {[number[] | Float64Array, ...Column[]]} Columns
 */

/**
 * Buckets of a curve, one after another.
 * @typedef {Pick<Curve, "x" | "mean"> & Partial<Curve>} Stretch
 */

/**
 * Returns [steps, a column for each tail ..., highest, lowest, mean, and with `smooth` the smoothed mean].
 * The curves that count are one line, drawn last and so above the tails. The line omits the last bucket
 * of a thinned curve, which may not be full: a single value among means looks like a turn of the curve.
 * @param {Curve[]} curves
 * @param {{log?: boolean, smooth?: number, x?: Float64Array}} [how]
 * @returns {Columns}
 */
export function columns(curves, { log = false, smooth = 0, x = union(curves) } = {}) {
  const { kept, tails } = divided(curves);
  const floor = log ? lowestPositive(kept) : -Infinity;
  /** @type {(y: number) => number | null} */
  const shown = (y) => (Number.isFinite(y) && (!log || y > 0) ? y : null);
  /** @type {(lines: Stretch[]) => Column} */
  const line = (lines) =>
    column(x, lines, (curve, i) => (i < inLine(curve) ? shown(curve.mean[i]) : undefined));
  /** @type {(of: "hi" | "lo") => Column} */
  const edge = (of) =>
    column(x, kept, (curve, i) =>
      shown(curve.mean[i]) === null ? null : shown(Math.max(curve[of][i], floor)),
    );
  return [
    x,
    ...tails.map((tail) => line([...startOfTail(curves, tail), tail])),
    edge("hi"),
    edge("lo"),
    line(kept),
    ...(smooth ? [averages(kept, { log, smooth, x })] : []),
  ];
}

/**
 * The smoothed means of the curves that count, including values that a logarithmic scale cannot show.
 * @param {Curve[]} kept
 * @param {{log: boolean, smooth: number, x: Float64Array}} how
 */
function averages(kept, { log, smooth, x }) {
  const means = column(x, kept, (curve, i) => {
    if (i >= inLine(curve)) return undefined;
    return Number.isFinite(curve.mean[i]) ? curve.mean[i] : null;
  });
  const buckets = kept.reduce((sum, curve) => sum + curve.x.length, 0);
  const stride = Math.max(1, ...kept.map((curve) => curve.stride));
  const found = smoothed(means, weightOf(smooth, { buckets, stride }));
  return log ? found.map((y) => (y != null && y <= 0 ? null : y)) : found;
}

/**
 * A curve of the one bucket at which a tail leaves the earlier part of its segment, if there is one.
 * @param {Curve[]} curves
 * @param {Curve} tail
 */
function startOfTail(curves, tail) {
  const before = curves.filter(
    ({ x, tag, segment }) => tag === tail.tag && segment === tail.segment && lastOf(x) < tail.x[0],
  );
  const last = before.sort((one, other) => lastOf(one.x) - lastOf(other.x)).at(-1);
  if (!last) return [];
  const i = inLine(last) - 1;
  return [{ x: [last.x[i]], mean: [last.mean[i]] }];
}

/**
 * The number of buckets in a curve's line.
 * @param {Stretch} curve
 */
function inLine({ x, stride = 1 }) {
  return stride > 1 && x.length > 1 ? x.length - 1 : x.length;
}

/**
 * Returns [steps, the tails of all lines ..., the other columns of each line ...]. lines: the curves of
 * each line; places: those of the marks, which the axis includes.
 * @param {Curve[][]} lines
 * @param {{log?: boolean, logX?: boolean, smooth?: number, places?: number[]}} [how]
 * @returns {Columns}
 */
export function together(lines, { log = false, logX = false, smooth = 0, places = [] } = {}) {
  const x = reaching(union(lines.flat()), places);
  const own = smooth ? 4 : 3; // columns of each line
  const each = lines.map((curves) => {
    const [, ...drawn] = columns(curves, { log, smooth, x });
    return drawn;
  });
  const all = [
    ...each.flatMap((drawn) => drawn.slice(0, -own)),
    ...each.flatMap((drawn) => drawn.slice(-own)),
  ];
  const first = logX ? countUpTo(x, 0) : 0; // a logarithmic axis has no place for step 0
  return first ? [x.slice(first), ...all.map((each) => each.slice(first))] : [x, ...all];
}

/** @param {{x: number[]}[]} curves */
export function union(curves) {
  const all = Float64Array.from(curves.flatMap(({ x }) => x)).sort();
  return all.filter((x, i) => i === 0 || x !== all[i - 1]);
}

/**
 * Extends the steps to the first place. Ignores places that lie further off than the length of the
 * curve, which would become small.
 * @param {Float64Array} x
 * @param {number[]} places
 */
function reaching(x, places) {
  const far = Math.max(1, lastOf(x) - x[0]);
  const first = Math.min(...places.filter((place) => place >= x[0] - far));
  return first < x[0] ? Float64Array.from([first, ...x]) : x;
}

/**
 * The column of `value` for the bucket of a curve at each step of x.
 * @template {{x: number[]}} T
 * @param {ArrayLike<number>} x
 * @param {T[]} curves
 * @param {(curve: T, i: number) => Column[number]} value
 * @returns {Column}
 */
export function column(x, curves, value) {
  const result = new Array(x.length);
  for (const curve of curves) {
    for (let i = 0, at = countUpTo(x, curve.x[0]) - 1; i < curve.x.length; i++) {
      while (x[at] < curve.x[i]) at++;
      result[at] = value(curve, i);
    }
  }
  return result;
}

/**
 * The indices of values between two gaps. No line reaches them, so they get a dot.
 * @param {ArrayLike<number | null | undefined>} column
 */
export function isolated(column) {
  const found = [];
  let before = null; // the value before the last one
  let last = -1; // the index of the last value
  for (let i = 0; i < column.length; i++) {
    if (column[i] === undefined) continue;
    if (last >= 0 && before === null && column[last] !== null && column[i] === null)
      found.push(last);
    before = last < 0 ? null : column[last];
    last = i;
  }
  if (last >= 0 && before === null && column[last] !== null) found.push(last);
  return found;
}

/** @param {Curve[]} curves */
function lowestPositive(curves) {
  let lowest = Infinity;
  for (const { mean, lo } of curves) {
    for (let i = 0; i < mean.length; i++) {
      if (mean[i] > 0) lowest = Math.min(lowest, lo[i] > 0 ? lo[i] : mean[i]);
    }
  }
  return lowest;
}

/**
 * The bytes of a message's buffer. A view is copied, because it may begin at any byte.
 * @param {Bytes | undefined} buffer
 */
export function aligned(buffer = new ArrayBuffer(0)) {
  if (!ArrayBuffer.isView(buffer)) return buffer;
  return buffer.buffer.slice(buffer.byteOffset, buffer.byteOffset + buffer.byteLength);
}

/**
 * The float64 of a message's buffer.
 * @param {Bytes | undefined} buffer
 */
export function floats(buffer) {
  return new Float64Array(aligned(buffer));
}
