// What was done to a run, along its steps: in which order, and in words. Knows no page.

import { clock, place } from "../shared/format.js";

/** @import { Checkpoint } from "../protocol.d.ts" */
/** @import { Group, Mark } from "../types.d.ts" */

/**
 * How far two signs, of so many marks each, must stand apart.
 * @typedef {(one: number, other: number) => number} Room
 */

/**
 * The most telling first: what a mark that stands for several is drawn as.
 * @type {Record<string, string>}
 */
export const GLYPHS = {
  nan: "×",
  failed: "⊗",
  recovery: "✚",
  restore: "◀",
  reverted: "↺",
  kept: "✓",
  try: "◇",
  undone: "≠",
  set: "◆",
  evaluate: "□",
  pause: "❚❚",
  resume: "▶",
  save: "●",
  checkpoint: "○",
};
const OTHER = "▪";
const ORDER = Object.keys(GLYPHS);
const BY_CADENCE = ["checkpoint"];
/** @type {Record<string, string>} */
const KINDS = { last_good: "copy", trial: "where a trial begins" }; // of checkpoints, by their folders

/**
 * The end of a trial is a "try" as well.
 * @param {Mark} mark
 */
export const kind = ({ event, kept }) => (kept === undefined ? event : kept ? "kept" : "reverted");

/** @param {Mark} mark */
export const glyph = (mark) => GLYPHS[kind(mark)] ?? OTHER;

/** @param {Mark} mark */
const byCadence = ({ event }) => BY_CADENCE.includes(event);

/**
 * What the run has paused for, as it has gone bad; null once something was done about that.
 * @param {Mark[]} all
 */
export function trouble(all) {
  const last = all.findLastIndex(({ event }) => event === "nan");
  const done = all
    .slice(last + 1)
    .some(({ event, place, step }) => event === "resume" || place < step);
  return last < 0 || done || all[last].abandoned ? null : all[last];
}

/**
 * Those that lie closer than `apart`, or whose signs would overlap, are one: the most telling mark
 * first, then the newest, then what came by cadence, then what was abandoned. The number: how many
 * there are, without what came by cadence about another mark.
 * lefts: where they lie; what lies elsewhere is left out. wide: how broad the sign of a number is.
 * What came by cadence gives way: near to another mark it does not move it.
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
  const free = [...groups, null].map(() => /** @type {number[]} */ ([])); // what lies between them
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
 * What is left of some marks when those have gone to a group that are so near to it that the sign
 * of all of them would overlap its own.
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
  /** @param {number} i */
  const rank = (i) => late(i) * ORDER.length + (ORDER.indexOf(kind(marks[i])) + 1 || ORDER.length);
  const [first, ...others] = group.sort((i, j) => rank(i) - rank(j) || j - i);
  return [first, ...others.sort((i, j) => late(i) - late(j) || j - i)].map((i) => marks[i]);
}

/**
 * The sign of more is broader: it may reach the one before, which then is one with it.
 * @param {number[]} order
 * @param {number[]} lefts
 * @param {Room} room
 */
function joined(order, lefts, room) {
  /** @type {Group<number>[]} */
  const groups = [];
  for (const i of order) {
    let group = { left: lefts[i], first: lefts[i], last: lefts[i], number: 1, marks: [i] };
    while (
      groups.length &&
      group.left - groups.at(-1).left < room(groups.at(-1).number, group.number)
    )
      group = both(groups.pop(), group);
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
 * A mark in words: what, where and when.
 * @param {Mark} mark
 */
export function titled(mark) {
  const to = mark.place === mark.step ? "" : ` → ${place(mark.place, "step")}`;
  return `${mark.event} · ${place(mark.step, "step")}${to} · ${clock(mark.wall)}${mark.abandoned ? " · abandoned" : ""}`;
}

/**
 * A checkpoint in words, as it is listed: where, when, and what tells it from others.
 * @param {Checkpoint} checkpoint
 */
export function listed([name, step, wall, abandoned]) {
  const kind = KINDS[name.split("/").at(-2)];
  const words = [place(step, "step"), clock(wall), kind, abandoned && "abandoned"];
  return words.filter(Boolean).join(" · ");
}

/**
 * What is restored where none was chosen: the newest that counts and is no copy of a good state, or
 * at least the newest. Its name, and words for it.
 * @param {Checkpoint[]} checkpoints
 */
export function latest(checkpoints) {
  if (!checkpoints.length) return [null, "no checkpoint yet"];
  const own = checkpoints.filter(([name]) => !name.startsWith("last_good/"));
  const counting = own.find(([, , , abandoned]) => !abandoned);
  const [name, step] = counting ?? own[0] ?? [];
  if (!name) return [null, "only copies: choose one"];
  return [name, `latest · ${place(step, "step")}${counting ? "" : " · abandoned"}`];
}
