// The points of precision-recall curves, decoded, and merged for one chart. Uses no DOM.

import { floats } from "../../shared/columns.js";

/** @import { PrCurve } from "../../protocol.d.ts" */
/** @import { Columns } from "../../shared/columns.js" */
/** @import { Bytes } from "../../shared/connection.js" */

/**
 * A precision-recall curve: a number for each threshold.
 * @typedef {object} PrRows
 * @property {number[]} threshold
 * @property {number[]} truePositives
 * @property {number[]} falsePositives
 * @property {number[]} trueNegatives
 * @property {number[]} falseNegatives
 * @property {number[]} precision
 * @property {number[]} recall
 */

const NAMES = /** @type {const} */ ([
  "threshold",
  "truePositives",
  "falsePositives",
  "trueNegatives",
  "falseNegatives",
  "precision",
  "recall",
]);

/**
 * The steps of a run, their wall times, and the curve at one of them.
 * @param {Extract<PrCurve, {known: string}>} entry
 * @param {Bytes} buffer
 */
export function decodePr({ steps: count }, buffer) {
  const numbers = floats(buffer);
  const size = (numbers.length - 2 * count) / NAMES.length;
  const rows = NAMES.map((name, i) => {
    const from = 2 * count + i * size;
    return [name, [...numbers.subarray(from, from + size)]];
  });
  return {
    steps: [...numbers.subarray(0, count)],
    walls: [...numbers.subarray(count, 2 * count)],
    rows: /** @type {PrRows} */ (Object.fromEntries(rows)),
  };
}

/**
 * Returns {data, places}: uPlot's columns of all curves over one axis of recall, and for each curve the
 * places of its points on that axis. Points with equal recall keep the order of their thresholds.
 * @param {PrRows[]} curves
 * @returns {{data: Columns, places: number[][]}}
 */
export function merged(curves) {
  const points = curves.flatMap(({ recall }, curve) =>
    recall.map((x, point) => ({ x, curve, point })),
  );
  points.sort((a, b) => a.x - b.x || a.curve - b.curve || b.point - a.point);
  const columns = curves.map(
    () => /** @type {undefined[]} */ (Array(points.length).fill(undefined)),
  );
  const places = curves.map(({ recall }) => Array(recall.length).fill(0));
  points.forEach(({ curve, point }, place) => {
    /** @type {(number | undefined)[]} */ (columns[curve])[place] = curves[curve].precision[point];
    places[curve][point] = place;
  });
  return { data: [points.map(({ x }) => x), ...columns], places };
}

/**
 * The nearest point of a curve; undefined if the curve is empty.
 * @param {PrRows} curve
 * @param {(recall: number, precision: number) => number} distance
 */
export function nearestPoint({ recall, precision }, distance) {
  let best;
  let least = Infinity;
  for (let i = 0; i < recall.length; i++) {
    const far = distance(recall[i], precision[i]);
    if (far < least) [best, least] = [i, far];
  }
  return best;
}
