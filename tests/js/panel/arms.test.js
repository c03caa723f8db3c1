import assert from "node:assert/strict";
import { test } from "node:test";
import {
  armAt,
  armOfTail,
  armsOf,
  resultIn,
  valuesOfArms,
} from "../../../nbtrain/panel/js/panel/arms.js";

const arm = (turn, name, wall) => ({ event: "try", arm: [turn, name], wall });
const mark = (event, wall, more = {}) => ({ event, wall, ...more });
const TABLE = { tag: "loss", rows: [], more: 0 };
const END = mark("try", 300, { kept: false, trial: TABLE });
const TRIED = [arm(0, "a", 100), mark("try", 190), arm(1, "b", 200), mark("try", 290), END];

test("an arm lasts from its beginning to its end", () => {
  const arms = armsOf([mark("save", 50), ...TRIED, mark("set", 400)]);
  assert.deepEqual(arms, [
    { name: "a", from: 100, until: 190 },
    { name: "b", from: 200, until: 290 },
  ]);
  assert.deepEqual(
    [99, 100, 189, 195, 250, 290].map((wall) => armAt(arms, wall)),
    [-1, 0, 0, -1, 1, -1],
  );
});

test("the arm that is trained has no end yet, and a NaN in it is none", () => {
  const arms = armsOf([arm(0, "a", 100), mark("nan", 120), mark("note", 130)]);
  assert.deepEqual(arms, [{ name: "a", from: 100, until: Infinity }]);
});

test("a trial that is left ends with what left it", () => {
  for (const event of ["pause", "restore", "failed"])
    assert.equal(armsOf([arm(0, "a", 100), mark(event, 150)])[0].until, 150);
});

test("only the newest trial has arms", () => {
  assert.deepEqual(
    armsOf([...TRIED, arm(0, "c", 500)]).map(({ name }) => name),
    ["c"],
  );
  assert.deepEqual(armsOf([mark("try", 1), mark("try", 2, { kept: true })]), []);
});

const curve = (x, wall, mean, abandoned) => ({ x, wall, mean, lo: mean, hi: mean, abandoned });

test("a tail is of the arm that was trained at its middle", () => {
  const arms = armsOf(TRIED);
  assert.equal(armOfTail(arms, curve([5, 6, 7], [99.9, 150, 190.1])), 0);
  assert.equal(armOfTail(arms, curve([5], [50])), -1);
});

test("at a place of the axis each arm that reaches there has its value, also the one that goes on", () => {
  const arms = armsOf(TRIED);
  const curves = [
    curve([1, 2, 3], [10, 20, 30], [9, 8, 7], false),
    curve([4, 5, 6], [110, 120, 130], [6, 5, 4], true),
    curve([4, 5, 6, 7], [210, 220, 230, 310], [5, 4, 3, 2], false),
    curve([4, 5], [1, 2], [0, 0], true),
  ];
  assert.deepEqual(valuesOfArms(arms, curves, 5.2), [
    [0, 5],
    [1, 4],
  ]);
  assert.deepEqual(valuesOfArms(arms, curves, 2), []);
  assert.deepEqual(valuesOfArms(arms, curves, 7), [], "after the trial");
  assert.deepEqual(valuesOfArms(arms, [curve([], [], [], true)], 5), []);
});

test("the outcome stays until the next command", () => {
  assert.equal(resultIn(TRIED), END);
  assert.equal(
    resultIn([...TRIED, mark("checkpoint", 310), mark("nan", 320), mark("note", 330)]),
    END,
  );
  for (const event of ["pause", "resume", "save", "restore", "set", "try", "evaluate"])
    assert.equal(resultIn([...TRIED, mark(event, 310)]), null);
  assert.equal(resultIn([mark("try", 1, { kept: true })]), null, "a trial of one value has none");
});
