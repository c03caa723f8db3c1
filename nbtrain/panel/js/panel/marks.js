// What was done to a run, along its steps: in which order, and in words. Knows no page.
//
// A mark: see types.d.ts; `place` is where it stands.

import { clock, place } from "../shared/format.js";

// The most telling first: what a mark that stands for several is drawn as.
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
const KINDS = { last_good: "copy", trial: "where a trial begins" }; // of checkpoints, by their folders

// The end of a trial is a "try" as well.
export const kind = ({ event, kept }) => (kept === undefined ? event : kept ? "kept" : "reverted");

export const glyph = (mark) => GLYPHS[kind(mark)] ?? OTHER;

const byCadence = ({ event }) => BY_CADENCE.includes(event);

// What the run has paused for, as it has gone bad; null once something was done about that.
export function trouble(all) {
  const last = all.findLastIndex(({ event }) => event === "nan");
  const done = all
    .slice(last + 1)
    .some(({ event, place, step }) => event === "resume" || place < step);
  return last < 0 || done || all[last].abandoned ? null : all[last];
}

// Those that lie closer than `apart`, or whose signs would overlap, are one: [{left, first, last,
// number, marks}]: the most telling mark first, then the newest, then what came by cadence, then
// what was abandoned. number: how many there are, without what came by cadence about another mark.
// lefts: where they lie; what lies elsewhere is left out. wide: how broad the sign of a number is.
// What came by cadence gives way: near to another mark it does not move it.
export function grouped(marks, lefts, { apart, from, to, wide = (_number) => 0 }) {
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
  const free = Array.from({ length: groups.length + 1 }, () => []); // what lies between them
  let next = 0;
  for (const i of order.filter((i) => byCadence(marks[i]))) {
    while (groups[next]?.left <= lefts[i]) next++;
    free[next].push(i);
  }
  const between = free.flatMap((some, n) =>
    joined(distant(some, [groups[n - 1], groups[n]].filter(Boolean), lefts, room), lefts, room),
  );
  const all = [...groups, ...between];
  for (const group of all) group.marks = inOrder(group.marks, marks);
  return all.sort((one, other) => one.left - other.left);
}

// What is left of some marks when those have gone to a group that are so near to it that the sign
// of all of them would overlap its own.
function distant(some, groups, lefts, room) {
  return some.filter((i) => {
    const near = groups.find(
      ({ left, number }) => Math.abs(lefts[i] - left) < room(number, some.length),
    );
    near?.marks.push(i);
    return !near;
  });
}

function inOrder(group, marks) {
  const late = (i) => (marks[i].abandoned ? 2 : byCadence(marks[i]) ? 1 : 0);
  const rank = (i) => late(i) * ORDER.length + (ORDER.indexOf(kind(marks[i])) + 1 || ORDER.length);
  const [first, ...others] = group.sort((i, j) => rank(i) - rank(j) || j - i);
  return [first, ...others.sort((i, j) => late(i) - late(j) || j - i)].map((i) => marks[i]);
}

// The sign of more is broader: it may reach the one before, which then is one with it.
function joined(order, lefts, room) {
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

function both(one, { last, number, marks }) {
  one.marks.push(...marks);
  return Object.assign(one, { last, number: one.number + number, left: (one.first + last) / 2 });
}

// A mark in words: what, where and when.
export function titled(mark) {
  const to = mark.place === mark.step ? "" : ` → ${place(mark.place, "step")}`;
  return `${mark.event} · ${place(mark.step, "step")}${to} · ${clock(mark.wall)}${mark.abandoned ? " · abandoned" : ""}`;
}

// A checkpoint in words, as it is listed: where, when, and what tells it from others.
export function listed([name, step, wall, abandoned]) {
  const kind = KINDS[name.split("/").at(-2)];
  const words = [place(step, "step"), clock(wall), kind, abandoned && "abandoned"];
  return words.filter(Boolean).join(" · ");
}

// What is restored where none was chosen: the newest that counts and is no copy of a good state, or
// at least the newest. Its name, and words for it.
export function latest(checkpoints) {
  if (!checkpoints.length) return [null, "no checkpoint yet"];
  const own = checkpoints.filter(([name]) => !name.startsWith("last_good/"));
  const counting = own.find(([, , , abandoned]) => !abandoned);
  const [name, step] = counting ?? own[0] ?? [];
  if (!name) return [null, "only copies: choose one"];
  return [name, `latest · ${place(step, "step")}${counting ? "" : " · abandoned"}`];
}
