// Reads a chart at a position: the step, and the bucket of each line.

import { bucketAt, bucketUpTo, nearest } from "../shared/buckets.js";

/** @import uPlot from "uplot" */
/** @import { ChartAxis } from "../shared/axis_tools.js" */
/** @import { Bucket, Curve } from "../shared/buckets.js" */

/**
 * The curves of each line that is drawn, the axis, and the weight of the smoothing.
 * @typedef {{lines: {curves: Curve[]}[], x: ChartAxis, smooth: number}} Drawn
 */

const COLUMNS = 4; // of a smoothed line
const REACH = 6; // the most pixels from a validation's point to a pointer that selects it

/**
 * The step at a position in the plot; on an axis other than steps, the step of the nearest point.
 * @param {uPlot} u
 * @param {number} left
 * @param {Pick<Drawn, "lines" | "x">} drawn
 */
export function stepAt(u, left, { lines, x }) {
  const place = u.posToVal(left, "x");
  return x === "step" ? place : (bucketAt(lines[0].curves, place)?.step ?? null);
}

/**
 * The bucket of the first line at a position, and the validation's last bucket up to there.
 * @param {uPlot} u
 * @param {number} left
 * @param {Pick<Drawn, "lines" | "smooth">} drawn
 */
export function bucketsAt(u, left, { lines, smooth }) {
  const [first, second] = lines;
  const bucket = bucketAt(first.curves, u.posToVal(left, "x"));
  const found = [bucket];
  if (bucket && second) {
    const place = Math.max(bucket.x, u.posToVal(left + REACH, "x"));
    found.push(bucketUpTo(second.curves, place, bucket));
  }
  return smooth ? averaged(u, found, lines.length) : found;
}

/**
 * Adds the smoothed values to the buckets of the lines.
 * @param {uPlot} u
 * @param {(Bucket | null)[]} buckets
 * @param {number} lines the number of lines
 */
function averaged(u, buckets, lines) {
  const first = u.data.length - COLUMNS * lines; // of the first line
  return buckets.map((bucket, i) => {
    if (!bucket || bucket.abandoned) return bucket;
    const column = u.data[first + COLUMNS * (i + 1) - 1];
    return { ...bucket, smooth: column[nearest(u.data[0], bucket.x)] ?? undefined };
  });
}
