// The arms of the newest trial of several values, found from its marks and curves. Uses no DOM.

import { nearest, valueOf } from "../shared/buckets.js";
import { lastOf } from "../shared/collections.js";

/** @import { Curve } from "../shared/buckets.js" */
/** @import { Mark } from "./marks.js" */

/**
 * A setting that the newest trial of several values compares, and the times of its training.
 * @typedef {{name: string, from: number, until: number}} Arm
 */

// The events that end an arm, besides the next one: a decision, or the end of a trial without one.
const ENDS = ["try", "pause", "restore", "recovery", "failed", "set", "save"];
const COMMANDS = ["pause", "resume", "save", "restore", "set", "try", "evaluate"];

/**
 * The arms, in the order in which they were trained.
 * @param {Mark[]} marks
 * @returns {Arm[]}
 */
export function armsOf(marks) {
  /** @type {Arm[]} */
  let found = [];
  for (const { arm, event, wall } of marks) {
    if (arm?.[0] === 0) found = [];
    const last = found.at(-1);
    if (last?.until === Infinity && ENDS.includes(event)) last.until = wall;
    if (arm) found.push({ name: arm[1], from: wall, until: Infinity });
  }
  return found;
}

/**
 * The mark of the end of the newest trial of several values; null after the next command.
 * @param {Mark[]} marks
 */
export function resultIn(marks) {
  const last = marks.findLastIndex(({ trial }) => trial);
  const over = marks.slice(last + 1).some(({ event }) => COMMANDS.includes(event));
  return last < 0 || over ? null : marks[last];
}

/**
 * The place among the arms of the one that was trained at a time; -1 for none.
 * @param {Arm[]} arms
 * @param {number} wall
 */
export function armAt(arms, wall) {
  return arms.findIndex(({ from, until }) => from <= wall && wall < until);
}

/**
 * The place of the arm that trained an abandoned tail. Uses the middle of the tail, because the times at
 * its ends often equal those of the marks.
 * @param {Arm[]} arms
 * @param {Curve} tail
 */
export function armOfTail(arms, { wall }) {
  return armAt(arms, wall[wall.length >> 1]);
}

/**
 * The values of the arms at a place of the axis, [the arm's place, the value], from the curves that
 * reach there.
 * @param {Arm[]} arms
 * @param {Curve[]} curves
 * @param {number} x
 */
export function valuesOfArms(arms, curves, x) {
  /** @type {Map<number, number>} */
  const found = new Map();
  for (const curve of curves) {
    if (!curve.x.length || x < curve.x[0] || x > lastOf(curve.x)) continue;
    const i = nearest(curve.x, x);
    const arm = curve.abandoned ? armOfTail(arms, curve) : armAt(arms, curve.wall[i]);
    if (arm >= 0) found.set(arm, valueOf(curve, i).mean);
  }
  return [...found].sort(([one], [other]) => one - other);
}
