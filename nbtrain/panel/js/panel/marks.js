// The marks of a run: their groups and descriptions. Uses no DOM.

import { clock, place } from "../shared/format.js";

/** @import { Action, Checkpoint, MarkDetails, TrialTable } from "../protocol.d.ts" */

/**
 * An entry of a run's history: see journal.py.
 * @typedef {object} Mark
 * @property {number} number counted over all marks of the run
 * @property {string} event
 * @property {number} step
 * @property {number} wall
 * @property {string} text
 * @property {string} glyph
 * @property {number} rank a sign for several marks has the glyph of the lowest
 * @property {MarkDetails["arm"]} [arm]
 * @property {TrialTable} [trial]
 * @property {number} place the step from which the run continued
 * @property {boolean} abandoned whether the run has been restored to a step before it
 * @property {Action[]} actions the actions that the kernel offers
 */

/**
 * Marks drawn as one sign: its position, those of the first and the last mark, and its number.
 * @template Item
 * @typedef {object} Group
 * @property {number} left
 * @property {number} first
 * @property {number} last
 * @property {number} number
 * @property {Item[]} marks
 */

/**
 * Returns the least distance between the signs of two groups with these numbers.
 * @typedef {(one: number, other: number) => number} Room
 */

const BY_CADENCE = ["checkpoint"];
/** @type {Record<string, string>} */
const KINDS = { last_good: "copy", trial: "start of a trial", best: "best" }; // of checkpoints, by their folders

/** @param {Mark} mark */
const byCadence = ({ event }) => BY_CADENCE.includes(event);

/**
 * Groups the marks that lie closer than `apart` or whose signs would overlap. In a group, the most
 * important mark comes first, then the newest, then those by cadence, then abandoned ones. The number
 * of a group excludes marks by cadence, unless it has no others.
 * lefts: the positions of the marks; those outside of `from` and `to` are omitted. wide: the width of
 * the sign for a number. A mark by cadence that is near another mark does not move its sign.
 * @param {Mark[]} marks
 * @param {number[]} lefts
 * @param {{apart: number, from: number, to: number, wide?: (number: number) => number}} how
 * @returns {Group<Mark>[]}
 */
export function grouped(marks, lefts, { apart, from, to, wide = () => 0 }) {
  /** @type {Room} */
  const room = (one, other) => Math.max(apart, (wide(one) + wide(other)) / 2);
  const order = marks
    .map((_, i) => i)
    .filter((i) => lefts[i] >= from && lefts[i] <= to)
    .sort((i, j) => lefts[i] - lefts[j]);
  const groups = joined(
    order.filter((i) => !byCadence(marks[i])),
    lefts,
    room,
  );
  const free = [...groups, null].map(() => /** @type {number[]} */ ([])); // the marks by cadence between the groups
  let next = 0;
  for (const i of order.filter((i) => byCadence(marks[i]))) {
    while (groups[next]?.left <= lefts[i]) next++;
    free[next].push(i);
  }
  const between = free.flatMap((some, n) =>
    joined(distant(some, [groups[n - 1], groups[n]].filter(Boolean), lefts, room), lefts, room),
  );
  return [...groups, ...between]
    .map((group) => ({ ...group, marks: inOrder(group.marks, marks) }))
    .sort((one, other) => one.left - other.left);
}

/**
 * Adds marks to a near group whose sign would overlap theirs; returns the other marks.
 * @param {number[]} some
 * @param {Group<number>[]} groups
 * @param {number[]} lefts
 * @param {Room} room
 */
function distant(some, groups, lefts, room) {
  return some.filter((i) => {
    const near = groups.find(
      ({ left, number }) => Math.abs(lefts[i] - left) < room(number, some.length),
    );
    near?.marks.push(i);
    return !near;
  });
}

/**
 * @param {number[]} group
 * @param {Mark[]} marks
 */
function inOrder(group, marks) {
  /** @param {number} i */
  const late = (i) => (marks[i].abandoned ? 2 : byCadence(marks[i]) ? 1 : 0);
  const [first, ...others] = group.sort(
    (i, j) => late(i) - late(j) || marks[i].rank - marks[j].rank || j - i,
  );
  return [first, ...others.sort((i, j) => late(i) - late(j) || j - i)].map((i) => marks[i]);
}

/**
 * Joins groups whose signs overlap: the sign of a larger group is wider.
 * @param {number[]} order
 * @param {number[]} lefts
 * @param {Room} room
 */
function joined(order, lefts, room) {
  /** @type {Group<number>[]} */
  const groups = [];
  for (const i of order) {
    let group = { left: lefts[i], first: lefts[i], last: lefts[i], number: 1, marks: [i] };
    let before = groups.at(-1);
    while (before && group.left - before.left < room(before.number, group.number)) {
      group = both(before, group);
      groups.pop();
      before = groups.at(-1);
    }
    groups.push(group);
  }
  return groups;
}

/**
 * @param {Group<number>} one
 * @param {Group<number>} other
 */
function both(one, { last, number, marks }) {
  one.marks.push(...marks);
  return Object.assign(one, { last, number: one.number + number, left: (one.first + last) / 2 });
}

/**
 * Describes a mark: its kind, step and time.
 * @param {Mark} mark
 */
export function titleOf(mark) {
  const to = mark.place === mark.step ? "" : ` → ${place(mark.place, "step")}`;
  return `${mark.event} · ${place(mark.step, "step")}${to} · ${clock(mark.wall)}${mark.abandoned ? " · abandoned" : ""}`;
}

/**
 * Describes a checkpoint in the list: its step, its time, and its kind.
 * @param {Checkpoint} checkpoint
 */
export function labelOf([name, step, wall, abandoned]) {
  const kind = KINDS[name.split("/").at(-2) ?? ""];
  const words = [place(step, "step"), clock(wall), kind, abandoned && "abandoned"];
  return words.filter(Boolean).join(" · ");
}

/**
 * Describes the checkpoint that is restored if none is chosen.
 * @param {Checkpoint[]} checkpoints
 * @param {string | null} [latest] see `Status` in protocol.d.ts
 */
export function latestLabel(checkpoints, latest) {
  const found = checkpoints.find(([name]) => name === latest);
  if (!found) return checkpoints.length ? "choose a checkpoint" : "no checkpoint yet";
  const [, step, , abandoned] = found;
  return `latest · ${place(step, "step")}${abandoned ? " · abandoned" : ""}`;
}
