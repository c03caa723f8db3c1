// The curves of several runs as uPlot's columns; for those of one run, see columns.js. Uses no DOM.

import { countsIn, nearest, valueOf } from "../../shared/buckets.js";
import { column, floats, union } from "../../shared/columns.js";

/** @import { Compare, Curves } from "../../protocol.d.ts" */
/** @import { UnseenCounts } from "../../shared/buckets.js" */
/** @import { Columns } from "../../shared/columns.js" */
/** @import { Bytes } from "../../shared/connection.js" */

/**
 * @typedef {object} Numbers
 * @property {number} last
 * @property {number} min
 * @property {number} minStep
 * @property {number} max
 * @property {number} maxStep
 * @property {number} points
 */

/**
 * @typedef {object} Buckets
 * @property {number[]} x
 * @property {number[]} mean
 * @property {number[]} lo
 * @property {number[]} hi
 * @property {number[]} smooth
 */

/**
 * A run in a chart of several.
 * @typedef {Buckets & {run: string, higher: boolean | null, leftOut: number, stride: number, numbers: Numbers, unseen: UnseenCounts[], tails: Buckets[], margin?: boolean}} RunCurve
 */

/**
 * A line of a chart of several runs; "raw" is the line behind a smoothed one.
 * @typedef {{kind: "tail" | "hi" | "lo" | "raw" | "line", run: string}} ChartLine
 */

/**
 * A line before it becomes a column.
 * @typedef {{kind: ChartLine["kind"], curve: Buckets & {run: string}, of: keyof Buckets}} Part
 */

const NUMBERS = 7; // of each run: see `numbersAt`
/** @type {(keyof Buckets)[]} */
const COLUMNS = ["x", "mean", "lo", "hi", "smooth"];
const BANDS = 4; // runs up to which the band from lowest to highest is drawn

/**
 * The runs of a `curves` message: [{run, higher, leftOut, stride, numbers, tails, x, mean, lo, hi,
 * smooth}]. higher: whether the best value is the highest; null if unknown.
 * @param {Curves["runs"]} runs
 * @param {Bytes} buffer
 * @returns {RunCurve[]}
 */
export function decode(runs, buffer) {
  const values = floats(buffer);
  let at = 0;
  /** @param {number} n */
  const rows = (n) => {
    /** @type {Buckets} */
    const curve = { x: [], mean: [], lo: [], hi: [], smooth: [] };
    for (let i = 0; i < n; i++) for (const name of COLUMNS) curve[name].push(values[at++]);
    return curve;
  };
  return runs.map(({ run, higher, left_out, n, stride, unseen, tails }) => {
    const numbers = numbersAt(values, at);
    at += NUMBERS;
    const curve = rows(n);
    const counts = countsIn(values.subarray(at, at + 4 * unseen));
    at += 4 * unseen;
    const about = { run, higher, leftOut: left_out, stride, numbers };
    const others = curve.x.map((_, i) => counts.get(i) ?? null);
    return { ...about, ...curve, unseen: others, tails: tails.map(rows) };
  });
}

/**
 * The tags of a `compare` message, with the numbers of each run in the order of the runs.
 * @param {Compare} content
 * @param {Bytes} buffer
 * @returns {{tag: string, higher: boolean | null, numbers: Numbers[]}[]}
 */
export function decodeNumbers({ runs, tags, higher }, buffer) {
  const values = floats(buffer);
  return tags.map((tag, row) => {
    const from = row * runs.length;
    const numbers = runs.map((_, i) => numbersAt(values, (from + i) * NUMBERS));
    return { tag, higher: higher[row], numbers };
  });
}

/**
 * @param {Float64Array} values
 * @param {number} at
 * @returns {Numbers}
 */
function numbersAt(values, at) {
  const [last, , min, minStep, max, maxStep, points] = values.subarray(at, at + NUMBERS);
  return { last, min, minStep, max, maxStep, points };
}

/**
 * Returns {data, lines}: the columns, and a description of each except the first. The order is from back
 * to front: tails, bands, raw lines, lines.
 * @param {RunCurve[]} curves
 * @param {{log?: boolean, smooth?: boolean}} [how]
 */
export function overlay(curves, { log = false, smooth = false } = {}) {
  const tails = curves.flatMap(({ run, tails }) => tails.map((tail) => ({ ...tail, run })));
  const x = union([...tails, ...curves]);
  /** @type {Part[]} */
  const parts = tails.map((curve) => ({ kind: "tail", curve, of: "mean" }));
  const few = !smooth && curves.length <= BANDS;
  for (const curve of curves.filter(({ stride, margin }) => margin || (few && stride > 1)))
    parts.push({ kind: "hi", curve, of: "hi" }, { kind: "lo", curve, of: "lo" });
  if (smooth) for (const curve of curves) parts.push({ kind: "raw", curve, of: "mean" });
  for (const curve of curves) parts.push({ kind: "line", curve, of: smooth ? "smooth" : "mean" });
  const columns = parts.map(({ curve, of }) =>
    column(x, [curve], (_, i) => {
      const y = curve[of][i];
      return Number.isFinite(y) && (!log || y > 0) ? y : null;
    }),
  );
  /** @type {Columns} */
  const data = [x, ...columns];
  return { data, lines: parts.map(({ kind, curve }) => ({ kind, run: curve.run })) };
}

/**
 * The value of each run nearest to a position, highest first and missing values last.
 * @param {RunCurve[]} curves
 * @param {number} x
 * @param {{smooth?: boolean}} [how]
 */
export function valuesAt(curves, x, { smooth = false } = {}) {
  const found = curves
    .filter((curve) => curve.x.length)
    .map((curve) => {
      const i = nearest(curve.x, x);
      const { lo, hi, stride, margin = false } = curve;
      const { mean, also } = valueOf(curve, i);
      return {
        run: curve.run,
        x: curve.x[i],
        mean,
        lo: lo[i],
        hi: hi[i],
        stride,
        margin,
        also,
        value: smooth && Number.isFinite(mean) ? curve.smooth[i] : mean,
      };
    });
  return found.sort((left, right) => {
    const [one, other] = [left, right].map(({ value }) =>
      Number.isNaN(value) ? -Infinity : value,
    );
    return one === other ? 0 : other - one;
  });
}
