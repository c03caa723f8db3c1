import assert from "node:assert/strict";
import { test } from "node:test";
import { grouped, labelOf, titleOf, latestLabel } from "../../../nbtrain/panel/js/panel/marks.js";

let wall = 1000;
const RANKS = ["nan", "restore", "set", "evaluate", "pause", "save", "checkpoint"];
const mark = (event, step, more = {}) => ({
  event,
  rank: RANKS.indexOf(event),
  step,
  wall: wall++,
  text: "",
  place: step,
  ...more,
});
const back = (step, to, event = "restore") => mark(event, step, { place: to });

test("marks that lie close are one, with the most telling first and the newest before the older", () => {
  const marks = ["save", "set", "nan", "set", "pause"].map((event, i) => mark(event, i));
  const groups = grouped(marks, [0, 4, 8, 12, 100], { apart: 20, from: 0, to: 200 });
  assert.deepEqual(
    groups.map(({ left, first, last }) => [left, first, last]),
    [
      [6, 0, 12],
      [100, 100, 100],
    ],
  );
  assert.deepEqual(
    groups[0].marks.map(({ event, step }) => [event, step]),
    [
      ["nan", 2],
      ["set", 3],
      ["set", 1],
      ["save", 0],
    ],
  );
});

test("of a crowd the newest follow the most telling, then checkpoints by cadence, then what was abandoned", () => {
  const events = [
    "set",
    "checkpoint",
    "set",
    "pause",
    back(9, 4),
    "save",
    "checkpoint",
    "nan",
    "evaluate",
  ];
  const marks = events.map((event, i) =>
    event.event ? event : mark(event, 4, i === 2 ? { place: 8, abandoned: true } : {}),
  );
  const [{ marks: crowd }] = grouped(
    marks,
    marks.map(() => 0),
    { apart: 20, from: 0, to: 9 },
  );
  assert.deepEqual(
    crowd.map(({ event, abandoned }) => (abandoned ? `(${event})` : event)),
    ["nan", "evaluate", "save", "restore", "pause", "set", "checkpoint", "checkpoint", "(set)"],
  );
});

test("no two groups lie closer than they may, and nothing is lost but what is out of sight", () => {
  const lefts = Array.from({ length: 300 }, (_, i) => ((i * 7919) % 1000) - 50);
  const groups = grouped(
    lefts.map((_, i) => mark(i % 9 ? "checkpoint" : "set", i)),
    lefts,
    { apart: 22, from: 0, to: 900 },
  );
  for (let i = 1; i < groups.length; i++) assert.ok(groups[i].left - groups[i - 1].left >= 22);
  assert.equal(
    groups.reduce((n, { marks }) => n + marks.length, 0),
    lefts.filter((left) => left >= 0 && left <= 900).length,
  );
});

test("the signs of two groups do not overlap, however many marks each stands for", () => {
  const wide = (number) => 9 + 9 * String(number).length;
  const random = (i) => (Math.sin(i) * 1e4) % 1;
  for (const [size, cadence] of [
    [40, 0],
    [300, 0],
    [300, 0.5],
    [1000, 0.9],
    [300, 1],
  ]) {
    const places = Array.from(
      { length: size },
      (_, i) => 23 * Math.floor(35 * Math.abs(random(i))) + (i % 2),
    );
    const marks = places.map((_, i) =>
      mark(Math.abs(random(i + 0.5)) < cadence ? "checkpoint" : "set", i),
    );
    const groups = grouped(marks, places, { apart: 22, from: 0, to: 900, wide });
    assert.ok(groups.length > 5);
    for (let i = 1; i < groups.length; i++) {
      const [one, other] = [groups[i - 1], groups[i]];
      assert.ok(
        other.left - one.left >= (wide(one.number) + wide(other.number)) / 2,
        `${one.number} at ${one.left}, ${other.number} at ${other.left}`,
      );
    }
    assert.equal(
      groups.reduce((n, { marks }) => n + marks.length, 0),
      size,
    );
  }
});

test("two marks stand apart where the signs of two groups would be one", () => {
  const wide = (number) => (number > 9 ? 26 : 13);
  const groups = (size) =>
    grouped(
      Array.from({ length: 2 * size }, (_, i) => mark("set", i)),
      Array.from({ length: 2 * size }, (_, i) => (i < size ? 100 : 124)),
      { apart: 22, from: 0, to: 900, wide },
    );
  assert.deepEqual(
    groups(1).map(({ left, number }) => [left, number]),
    [
      [100, 1],
      [124, 1],
    ],
  );
  assert.deepEqual(
    groups(16).map(({ left, number }) => [left, number]),
    [[112, 32]],
  );
});

test("checkpoints by cadence whose number would overlap another sign are one with it", () => {
  const wide = (number) => (number > 9 ? 26 : 13);
  const groups = (number) => {
    const marks = Array.from({ length: 16 + number }, (_, i) =>
      mark(i < 16 ? "set" : "checkpoint", i),
    );
    return grouped(
      marks,
      marks.map((_, i) => (i < 16 ? 100 : 124)),
      { apart: 22, from: 0, to: 900, wide },
    );
  };
  assert.deepEqual(
    groups(2).map(({ left, number }) => [left, number]),
    [
      [100, 16],
      [124, 2],
    ],
  );
  assert.deepEqual(
    groups(12).map(({ left, number, marks }) => [left, number, marks.length]),
    [[100, 16, 28]],
  );
});

test("checkpoints by cadence do not move the mark that they lie about, nor count with it", () => {
  const lefts = Array.from({ length: 100 }, (_, i) => 3 * i);
  const marks = lefts.map((_, i) => mark(i === 40 ? "set" : "checkpoint", i));
  const groups = grouped(marks, lefts, { apart: 22, from: 0, to: 900 });
  const group = groups.find(({ marks: [{ event }] }) => event === "set");
  assert.deepEqual([group.left, group.first, group.last, group.number], [120, 120, 120, 1]);
  assert.equal(
    groups.reduce((n, { marks }) => n + marks.length, 0),
    100,
  );
  assert.equal(groups[0].number, groups[0].marks.length);
  for (let i = 1; i < groups.length; i++) assert.ok(groups[i].left - groups[i - 1].left >= 22);
});

test("an abandoned mark does not stand for one that counts", () => {
  const marks = [mark("nan", 5, { abandoned: true }), back(5, 4)];
  assert.equal(grouped(marks, [0, 0], { apart: 20, from: 0, to: 9 })[0].marks[0].event, "restore");
});

test("a mark is told with its step, where it led, and the time of day", () => {
  const today = Math.floor(new Date(new Date().toDateString()) / 1000) + 3 * 3600 + 5;
  assert.equal(titleOf(mark("save", 1200, { wall: today })), "save · step 1,200 · 03:00:05");
  const gone = mark("restore", 1200, { place: 800, abandoned: true });
  assert.match(
    titleOf(gone),
    /^restore · step 1,200 → step 800 · \d{4}-\d\d-\d\d [\d:]+ · abandoned$/,
  );
});

test("a checkpoint is listed with its step and time, and what tells it from others", () => {
  const checkpoints = [
    ["ckpt-400", 400, 1003, false],
    ["trial/ckpt-390", 390, 1002.5, false],
    ["last_good/ckpt-550", 550, 1001.5, true],
    ["ckpt-500", 500, 1001, true],
    ["last_good/ckpt-250", 250, 999, false],
  ];
  const words = checkpoints.map((each) => labelOf(each).replace(/ \d{4}-\d\d-\d\d [\d:]+/, ""));
  assert.match(labelOf(checkpoints[0]), /^step 400 · \d{4}-\d\d-\d\d [\d:]{8}$/);
  assert.deepEqual(words, [
    "step 400 ·",
    "step 390 · · start of a trial",
    "step 550 · · copy · abandoned",
    "step 500 · · abandoned",
    "step 250 · · copy",
  ]);
});

test("what a restore goes back to that names none is listed first", () => {
  const copy = ["last_good/ckpt-9", 9, 1, false];
  const [five, left] = [
    ["checkpoints/ckpt-5", 5, 0, false],
    ["checkpoints/ckpt-300", 300, 1000, true],
  ];
  assert.equal(latestLabel([], null), "no checkpoint yet");
  assert.equal(latestLabel([copy], null), "choose a checkpoint");
  assert.equal(latestLabel([copy, left, five], "checkpoints/ckpt-5"), "latest · step 5");
  assert.equal(latestLabel([copy, left], "checkpoints/ckpt-300"), "latest · step 300 · abandoned");
});
