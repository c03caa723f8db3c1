// What was done to a run, along its steps: in which order, and what can be done about each.
// Knows no page.
//
// A mark is {event, step, wall, text, edits, place}: see journal.py; `place` is where it stands.

import { exact } from "./scale.js";
import { clock, place } from "../words.js";

// The most telling first: what a mark that stands for several is drawn as.
export const GLYPHS = {
  nan: "×", failed: "⊗", recovery: "✚", restore: "◀", reverted: "↺", kept: "✓", try: "◇",
  set: "◆", evaluate: "□", pause: "❚❚", resume: "▶", save: "●", checkpoint: "○",
};
const OTHER = "▪";
const ORDER = Object.keys(GLYPHS);
const BY_CADENCE = ["checkpoint"];
const ENDED = ["finished", "stopped", "failed"];
const KINDS = { last_good: "copy", trial: "where a trial begins" }; // of checkpoints, by their folders
const RATES = ["learning_rate", "learning_rate_factor"];

// The end of a trial is a "try" as well; only its words tell how it ended.
const kind = ({ event, text }) => (event !== "try" ? event : text.startsWith("kept ") ? "kept" : text.includes(" again") ? "reverted" : event);

export const glyph = (mark) => GLYPHS[kind(mark)] ?? OTHER;

const byCadence = ({ event }) => BY_CADENCE.includes(event);
const isSaved = ({ event }) => event === "save" || event === "checkpoint";

// All marks in their order, and between them the checkpoints that came without one, from an earlier
// kernel. Of each: whether it is abandoned, the run having gone back behind it since; `low`, the
// earliest place from it on; and `anew`, the mark of the checkpoint that has taken the place of its
// own, if there is one.
export function timeline(marks, checkpoints = []) {
  const saved = new Set(marks.filter(isSaved).map((mark) => mark.place));
  // Copies of good states, which have a folder in their names, were no deed.
  const others = checkpoints.filter(([name, step]) => !saved.has(step) && !name.includes("/")).map(([text, step, wall]) => ({ event: "checkpoint", step, wall, text, edits: [], place: step }));
  const all = others.length ? [...others, ...marks].sort((one, other) => one.wall - other.wall) : marks;
  const newest = new Map();
  let low = Infinity;
  const told = [...all].reverse().map((mark) => {
    const abandoned = mark.place > low;
    const anew = isSaved(mark) ? newest.get(mark.place) : undefined;
    low = Math.min(low, mark.place);
    if (isSaved(mark) && !anew) newest.set(mark.place, mark);
    return { ...mark, abandoned, low, anew };
  });
  return told.reverse();
}

// What the run has paused for, as it has gone bad; null once something was done about that.
export function trouble(all) {
  const last = all.findLastIndex(({ event }) => event === "nan");
  const done = all.slice(last + 1).some(({ event, place, step }) => event === "resume" || place < step);
  return last < 0 || done || all[last].abandoned ? null : all[last];
}

// Those that lie closer than `apart`, or whose signs would overlap, are one: [{left, first, last,
// number, marks}]: the most telling mark first, then the newest, then what came by cadence, then
// what was abandoned. number: how many there are, without what came by cadence about another mark.
// lefts: where they lie; what lies elsewhere is left out. wide: how broad the sign of a number is.
// What came by cadence gives way: near to another mark it does not move it.
export function grouped(marks, lefts, { apart, from, to, wide = () => 0 }) {
  const room = (one, other) => Math.max(apart, (wide(one) + wide(other)) / 2);
  const order = marks.map((_, i) => i).filter((i) => lefts[i] >= from && lefts[i] <= to).sort((i, j) => lefts[i] - lefts[j]);
  const groups = joined(order.filter((i) => !byCadence(marks[i])), lefts, room);
  const free = Array.from({ length: groups.length + 1 }, () => []); // what lies between them
  let next = 0;
  for (const i of order.filter((i) => byCadence(marks[i]))) {
    while (groups[next]?.left <= lefts[i]) next++;
    free[next].push(i);
  }
  const between = free.flatMap((some, n) => joined(distant(some, [groups[n - 1], groups[n]].filter(Boolean), lefts, room), lefts, room));
  const all = [...groups, ...between];
  for (const group of all) group.marks = inOrder(group.marks, marks);
  return all.sort((one, other) => one.left - other.left);
}

// What is left of some marks when those have gone to a group that are so near to it that the sign
// of all of them would overlap its own.
function distant(some, groups, lefts, room) {
  return some.filter((i) => {
    const near = groups.find(({ left, number }) => Math.abs(lefts[i] - left) < room(number, some.length));
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
    while (groups.length && group.left - groups.at(-1).left < room(groups.at(-1).number, group.number)) group = both(groups.pop(), group);
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
// all: see `timeline`.
export function listed(all, [name, step, wall]) {
  const kind = KINDS[name.split("/").at(-2)];
  const words = [place(step, "step"), clock(wall), kind, isLeft(all, [name, step, wall]) && "abandoned"];
  return words.filter(Boolean).join(" · ");
}

// What is restored where none was chosen: the newest that counts and is no copy of a good state, or
// at least the newest. Its name, and words for it.
export function latest(all, checkpoints) {
  if (!checkpoints.length) return [null, "no checkpoint yet"];
  const own = checkpoints.filter(([name]) => !name.startsWith("last_good/"));
  const counting = own.find((each) => !isLeft(all, each));
  const [name, step] = counting ?? own[0] ?? [];
  if (!name) return [null, "only copies: choose one"];
  return [name, `latest · ${place(step, "step")}${counting ? "" : " · abandoned"}`];
}

// Whether the run has gone back behind a checkpoint since. A copy has no mark: what was done after
// it tells.
function isLeft(all, [name, step, wall]) {
  const own = name.includes("/") ? undefined : all.findLast((mark) => isSaved(mark) && mark.place === step);
  return own?.abandoned ?? all.find((mark) => mark.wall > wall)?.low < step;
}

// What can be done about a mark: [{text, why, command, more, halve}]. why: why it cannot be done
// now, or null; halve: the hyperparameter to be halved when the command has been applied.
export function offers(all, mark, status) {
  const found = [];
  if (mark.edits.length && kind(mark) !== "reverted") found.push(setBack(mark, status));
  const here = isSaved(mark) ? checkpointOf(mark, status) : null;
  if (isSaved(mark) && here === null) found.push({ text: `Restore ${place(mark.place, "step")}`, why: gone(mark) });
  const [base, checkpoint] = here !== null ? [mark, here] : mark.event === "nan" ? rescuer(all, mark, status) : before(all, mark, status);
  if (!base) return found;
  const text = `Restore ${place(base.place, "step")}`;
  const restore = { text, why: whyNot("restore", status), command: "restore", more: { checkpoint } };
  const rate = RATES.find((name) => status.hyperparameters?.some(([known]) => known === name));
  if (mark.event === "nan" && rate) found.push({ ...restore, text: `${text} and halve ${rate}`, halve: rate });
  found.push(restore);
  const edit = mark.event === "nan" && suspect(all, mark, base);
  const [earlier, named] = edit ? rescuer(all, edit, status) : [];
  if (earlier) found.push({ ...restore, text: `Restore ${place(earlier.place, "step")}, before ${changes(edit)}`, more: { checkpoint: named } });
  return found;
}

// What can be done about each of some marks: [{mark, offers}]; what several offer, the first does.
export function offersOf(all, marks, status) {
  const said = new Set();
  const isNew = ({ text, more }) => said.size < said.add(JSON.stringify([text, more])).size;
  return marks.map((mark) => ({ mark, offers: offers(all, mark, status).filter(isNew) }));
}

// Half of a value that a restore has brought back: of what it was before, if that was less, which
// is too much as well. A value that is no number is none to halve: null.
export function halved(before, restored) {
  if (typeof restored !== "number") return null;
  return (typeof before === "number" ? Math.min(before, restored) : restored) / 2;
}

const changes = ({ edits }) => edits.map(([name, old, now]) => `${name} ${exact(old)} → ${exact(now)}`).join(", ");

function setBack({ edits }, status) {
  const known = new Set(status.hyperparameters?.map(([name]) => name));
  const missing = edits.find(([name]) => !known.has(name));
  const value = (name) => status.values?.[status.hyperparameters.findIndex(([known]) => known === name)];
  const text = edits.map(([name, old]) => `${name} back to ${exact(old)}`).join(", ");
  const why = whyNot("set", status) ?? (missing ? `there is no hyperparameter ${missing[0]}` : edits.every(([name, old]) => value(name) === old) ? "it is so already" : null);
  return { text: `Set ${text}`, why, command: "set", more: { values: Object.fromEntries(edits.map(([name, old]) => [name, old])) } };
}

function whyNot(command, { controls = {}, phase, silentSince }) {
  if (silentSince) return `no word from the kernel since ${silentSince}`;
  if (controls[command]) return null;
  return ENDED.includes(phase) ? "the run has ended: start it again to go on" : `the run is ${phase}`;
}

// How a restore names the checkpoint of a mark; null where there is none any more. Of those that
// the kernel does not list, which are older, it will say so itself.
function checkpointOf(mark, { checkpoints = [], unlisted = 0 }) {
  if (mark.anew) return null;
  const there = checkpoints.filter(([, step]) => step === mark.place).map(([name]) => name);
  if (there.length) return there.find((name) => !name.includes("/")) ?? there[0]; // a copy is another state
  return unlisted && !checkpoints.some(([, , wall]) => wall < mark.wall - 1) ? mark.place : null;
}

// The latest step whose checkpoint may be a way out. Of a NaN the run has told it: what has led
// there can be good only if a good loss came of it.
function latestGood({ event, place, text }) {
  if (event !== "nan") return place;
  if (text.includes("There is no good checkpoint")) return -Infinity;
  return Number(/run\.restore\((\d+)\)/.exec(text)?.[1] ?? place - 1);
}

// The latest checkpoint that led to a mark, and how it is named.
function before(all, mark, status) {
  let low = latestGood(mark);
  for (let i = all.indexOf(mark) - 1; i >= 0; i--) {
    const other = all[i];
    const named = isSaved(other) && other.place <= low ? checkpointOf(other, status) : null;
    if (named !== null) return [other, named];
    low = Math.min(low, other.place);
  }
  return [null, null];
}

// The latest edit before it went bad, where the last good state came after it: what is finite there
// may be bad already. To lower the rate is no harm; what a trial or a restore has undone is over.
function suspect(all, mark, base) {
  let [low, restored, reverted] = [Infinity, null, false]; // restored: the step, up to where it was saved
  for (const other of all.slice(0, all.indexOf(mark)).reverse()) {
    const [word, at] = [kind(other), other.place];
    if (at < restored || (isSaved(other) && at === restored)) restored = null;
    const isUndone = at > low || restored !== null || word === "reverted" || (word === "try" && reverted);
    const lowers = other.edits.every(([name, old, now]) => RATES.includes(name) && now < old); // or none
    if (!isUndone && !lowers) return other.wall < base.wall ? other : null;
    if (word === "reverted" || word === "try") reverted = word === "reverted";
    else if (word === "restore" || at < other.step) restored = at;
    low = Math.min(low, at);
  }
  return null;
}

// The same, where a copy of a good state does as well: the newer of the two.
function rescuer(all, mark, status) {
  const [one, other] = [before(all, mark, status), copyBefore(all, mark, status)];
  return one[0] && (!other[0] || one[0].place >= other[0].place) ? one : other;
}

// The latest copy of a good state that led to a mark, and how it is named: the run may have gone
// back to it since, but not behind it.
function copyBefore(all, mark, { checkpoints = [] }) {
  const backs = all.slice(0, all.indexOf(mark)).filter(({ place, step }) => place < step);
  const led = ([name, step, wall]) => name.includes("/") && step <= latestGood(mark) && wall <= mark.wall && backs.every((back) => back.wall < wall || step <= back.place);
  const [copy] = checkpoints.filter(led).sort((one, other) => other[1] - one[1]);
  return copy ? [{ place: copy[1], wall: copy[2] }, copy[0]] : [null, null];
}

function gone({ anew }) {
  return anew ? `it was saved anew at ${clock(anew.wall)}` : "its checkpoint has been deleted";
}
