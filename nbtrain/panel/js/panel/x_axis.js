// The horizontal axis of a run's charts: the places of its points and marks. Uses no DOM.

import { isMetric } from "../shared/side_tags.js";

/** @import { ChartAxis } from "../shared/axis_tools.js" */
/** @import { Curve } from "../shared/buckets.js" */
/** @import { Mark } from "./marks.js" */

/** @typedef {Mark & {at: number}} PlacedMark A mark, and its place on the axis. */

/**
 * began: the start of relative time, that of the first point; epochs: see `Status.epochs` in
 * protocol.d.ts.
 * @typedef {{began: number, epochs: [step: number, epochs: number][]}} Known
 */

export class XAxis {
  /**
   * @param {ChartAxis} axis
   * @param {Known} known
   */
  constructor(axis, known) {
    this.axis = axis;
    this.known = known;
  }

  // A text that differs if the places differ.
  get key() {
    const { axis, known } = this;
    if (axis === "relative") return `relative ${known.began}`;
    return axis === "epoch" ? `epoch ${known.epochs.join()}` : axis;
  }

  /**
   * The place of a step that was completed at a time.
   * @param {number} step
   * @param {number} wall in seconds since the epoch
   */
  at(step, wall) {
    const { axis, known } = this;
    if (axis === "wall") return wall;
    if (axis === "relative") return wall - known.began;
    return axis === "epoch" ? epochOf(step, known.epochs) : step;
  }

  /**
   * A curve on the axis, sorted even if the clock was set back. Omits buckets without a place.
   * @param {Curve} curve
   * @returns {Curve}
   */
  curve(curve) {
    const { x: steps, wall } = curve;
    if (this.axis === "step") return { ...curve, steps };
    const places = steps.map((step, i) => this.at(step, wall[i]));
    const rows = places.map((_, i) => i).filter((i) => Number.isFinite(places[i]));
    if (rows.some((row, i) => i && places[row] < places[rows[i - 1]]))
      rows.sort((one, other) => places[one] - places[other]);
    /** @type {<T>(column: T[]) => T[]} */
    const take = (column) => rows.map((row) => column[row]);
    const [x, mean, lo, hi] = [places, curve.mean, curve.lo, curve.hi].map(take);
    const unseen = take(curve.unseen);
    return { ...curve, x, mean, lo, hi, unseen, wall: take(wall), steps: take(steps) };
  }

  /**
   * @param {Mark} mark
   * @returns {PlacedMark}
   */
  mark(mark) {
    return { ...mark, at: this.at(mark.place, mark.wall) };
  }
}

/**
 * The start of relative time, as in TensorBoard: the first point that counts, of the training if any.
 * @param {Curve[]} curves
 */
export function startTime(curves) {
  const training = curves.filter(({ tag }) => isMetric(tag));
  for (const some of [training.filter(({ abandoned }) => !abandoned), training, curves]) {
    const times = some.map(({ wall: [first] }) => first).filter(Number.isFinite);
    if (times.length) return Math.min(...times);
  }
  return 0;
}

/**
 * The number of completed epochs at a step; beyond the known steps, with the nearest epoch's length.
 * @param {number} step
 * @param {Known["epochs"]} known two or more, in order
 */
function epochOf(step, known) {
  const next = known.findIndex(([at], i) => i > 0 && step <= at);
  const last = next < 0 ? known.length - 1 : next;
  const [[from, done], [to, then]] = [known[last - 1], known[last]];
  return done + ((step - from) * (then - done)) / (to - from);
}
