// TensorBoard's smoothing, as recording/smoothing.py has it. Uses no DOM.

/** @import { Column } from "./columns.js" */

// The points of a curve that TensorBoard shows. A longer curve is smoothed over the same part of it.
const SAMPLES = 1000;

/**
 * The debiased exponential moving average of a column. Gaps stay, and do not affect it.
 * @param {Column} column
 * @param {number} weight of earlier values, below 1
 * @returns {Column}
 */
export function smoothed(column, weight) {
  let [last, bias] = [0, 1];
  return column.map((y) => {
    if (y === null || y === undefined) return y;
    last = last * weight + (1 - weight) * y;
    bias *= weight;
    return last / (1 - bias);
  });
}

/**
 * The weight for buckets of `stride` points, so that they are smoothed as their points would be.
 * @param {number} weight
 * @param {{buckets: number, stride: number}} curve
 */
export function weightOf(weight, { buckets, stride }) {
  return weight ** (stride * Math.min(1, SAMPLES / Math.max(1, buckets * stride)));
}
