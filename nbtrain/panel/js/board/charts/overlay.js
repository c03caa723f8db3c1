// Several runs in one chart, as uPlot's columns; see columns.js for one. Knows no page.

import { column, floats, kindOf, nearest, union } from "../../shared/columns.js";

/** @import { Compare, Curves } from "../../protocol.d.ts" */
/** @import { Buckets, Bytes, Numbers, RunCurve } from "../../types.d.ts" */

/** @type {(keyof Numbers)[]} */
const NUMBERS = ["last", "lastStep", "min", "minStep", "max", "maxStep", "points"];
/** @type {(keyof Buckets)[]} */
const COLUMNS = ["x", "mean", "lo", "hi", "smooth"];
const BANDS = 4; // runs up to which the band from lowest to highest is drawn

/**
 * The runs of a `curves` message: [{run, higher, leftOut, stride, numbers, tails, x, mean, lo, hi,
 * smooth}]; higher: whether the best value is the highest, and not the lowest.
 * @param {Curves["runs"]} runs
 * @param {Bytes} buffer
 * @returns {RunCurve[]}
 */
export function decode(runs, buffer) {
  const values = floats(buffer);
  let at = 0;
  /** @param {number} n */
  const rows = (n) => {
    /** @type {any} */
    const curve = Object.fromEntries(COLUMNS.map((name) => [name, new Array(n)]));
    for (let i = 0; i < n; i++) for (const name of COLUMNS) curve[name][i] = values[at++];
    return curve;
  };
  return runs.map(({ run, higher, left_out, n, stride, tails }) => {
    /** @type {any} */
    const numbers = Object.fromEntries(NUMBERS.map((name) => [name, values[at++]]));
    return { run, higher, leftOut: left_out, stride, numbers, ...rows(n), tails: tails.map(rows) };
  });
}

/**
 * The tags of a `compare` message: [{tag, higher, numbers}], the numbers of every run in its place.
 * @param {Compare} content
 * @param {Bytes} buffer
 */
export function decodeNumbers({ runs, tags, higher }, buffer) {
  const values = floats(buffer);
  let at = 0;
  const one = () => Object.fromEntries(NUMBERS.map((name) => [name, values[at++]]));
  return tags.map((tag, i) => ({ tag, higher: higher[i], numbers: runs.map(one) }));
}

/**
 * {data, lines}: the columns, and of each but the first what it shows, {kind, run}. Tails lie
 * below bands, these below raw lines, and above all are the lines that count.
 * @param {RunCurve[]} curves
 * @param {{log?: boolean, smooth?: boolean}} [how]
 */
export function overlay(curves, { log = false, smooth = false } = {}) {
  const tails = curves.flatMap(({ run, tails }) => tails.map((tail) => ({ ...tail, run })));
  const x = union([...tails, ...curves]);
  const parts = [...tails.map((tail) => ({ kind: "tail", curve: tail, of: "mean" }))];
  const few = !smooth && curves.length <= BANDS;
  for (const curve of curves.filter(({ stride, margin }) => margin || (few && stride > 1)))
    parts.push({ kind: "hi", curve, of: "hi" }, { kind: "lo", curve, of: "lo" });
  if (smooth) parts.push(...curves.map((curve) => ({ kind: "raw", curve, of: "mean" })));
  parts.push(...curves.map((curve) => ({ kind: "line", curve, of: smooth ? "smooth" : "mean" })));
  const shown = (y) => (Number.isFinite(y) && (!log || y > 0) ? y : null);
  const data = parts.map(({ curve, of }) => column(x, [curve], (c, i) => shown(c[of][i])));
  return { data: [x, ...data], lines: parts.map(({ kind, curve }) => ({ kind, run: curve.run })) };
}

/**
 * Where a column has a value between gaps: no line leads there, so it takes a dot.
 * @param {ArrayLike<number | null | undefined>} column
 */
export function isolated(column) {
  const found = [];
  let [before, last] = [null, -1]; // the value before the last, and the place of the last
  for (let i = 0; i < column.length; i++) {
    if (column[i] === undefined) continue;
    if (last >= 0 && before === null && column[last] !== null && column[i] === null)
      found.push(last);
    [before, last] = [last < 0 ? null : column[last], i];
  }
  if (last >= 0 && before === null && column[last] !== null) found.push(last);
  return found;
}

/**
 * The buckets that no line can show, as `marks` in columns.js, of all runs by their place.
 * @param {RunCurve[]} curves
 * @param {{log?: boolean}} [how]
 */
export function overlayMarks(curves, { log = false } = {}) {
  const found = [];
  for (const curve of curves) {
    for (let i = 0; i < curve.x.length; i++) {
      const kind = kindOf(curve, i, log);
      if (kind)
        found.push({
          x: curve.x[i],
          kind,
          abandoned: false,
          run: curve.run,
          several: curve.stride > 1,
        });
    }
  }
  return found.sort((left, right) => left.x - right.x);
}

/**
 * What each run has nearest to a place, the highest value first, and what is none last.
 * @param {RunCurve[]} curves
 * @param {number} x
 * @param {{smooth?: boolean}} [how]
 */
export function valuesAt(curves, x, { smooth = false } = {}) {
  const found = curves
    .filter((curve) => curve.x.length)
    .map((curve) => {
      const i = nearest(curve.x, x);
      const { mean, lo, hi, stride, margin = false } = curve;
      return {
        run: curve.run,
        x: curve.x[i],
        mean: mean[i],
        lo: lo[i],
        hi: hi[i],
        stride,
        margin,
        kind: kindOf(curve, i),
        value: smooth ? curve.smooth[i] : mean[i],
      };
    });
  const rank = ({ value }) => (Number.isNaN(value) ? -Infinity : value);
  return found.sort((left, right) => (rank(left) === rank(right) ? 0 : rank(right) - rank(left)));
}
