import assert from "node:assert/strict";
import { test } from "node:test";
import { XAxis, startTime } from "../../../nbtrain/panel/js/panel/x_axis.js";

const curve = (x, wall, more = {}) => ({
  tag: "loss",
  segment: 0,
  stride: 1,
  abandoned: false,
  x,
  wall,
  mean: x.map((step) => 1 / step),
  lo: x.map((step) => 1 / (step + 1)),
  hi: x.map((step) => 2 / step),
  unseen: x.map(() => null),
  ...more,
});
const KNOWN = { began: 1000, epochs: [] };

test("on the axis of steps a curve is as it came", () => {
  const { x, steps, mean } = new XAxis("step", KNOWN).curve(curve([1, 2], [1000, 1001]));
  assert.deepEqual(
    [x, steps, mean],
    [
      [1, 2],
      [1, 2],
      [1, 0.5],
    ],
  );
});

test("wall time is that of the points, and relative time begins with the first one of the run", () => {
  const given = curve([1, 2, 3], [1000, 1001, 5000]);
  assert.deepEqual(new XAxis("wall", KNOWN).curve(given).x, [1000, 1001, 5000]);
  const { x, steps, mean } = new XAxis("relative", KNOWN).curve(given);
  assert.deepEqual(
    [x, steps],
    [
      [0, 1, 4000],
      [1, 2, 3],
    ],
    "a pause is part of it",
  );
  assert.deepEqual(mean, given.mean);
});

test("an abandoned tail and what came after it lie beside one another in time", () => {
  const tail = curve([3, 4], [1003, 1004], { abandoned: true });
  const again = curve([3, 4], [1010, 1011], { segment: 1 });
  const along = new XAxis("relative", KNOWN);
  assert.deepEqual(
    [tail, again].map((each) => along.curve(each).x),
    [
      [3, 4],
      [10, 11],
    ],
  );
});

test("where a clock was set back, the points are in the order of the axis, each with its values", () => {
  const { x, steps, mean, wall } = new XAxis("wall", KNOWN).curve(curve([1, 2, 4], [9, 5, 7]));
  assert.deepEqual(
    [x, steps, wall],
    [
      [5, 7, 9],
      [2, 4, 1],
      [5, 7, 9],
    ],
  );
  assert.deepEqual(mean, [0.5, 0.25, 1]);
});

test("a point whose time is not known has no place on an axis of time", () => {
  const { x, steps, hi } = new XAxis("wall", KNOWN).curve(curve([1, 2, 4], [9, NaN, 11]));
  assert.deepEqual(
    [x, steps, hi],
    [
      [9, 11],
      [1, 4],
      [2, 0.5],
    ],
  );
});

test("an epoch is a part of its steps, and goes on as fast where nothing more is known", () => {
  const along = new XAxis("epoch", {
    began: 0,
    epochs: [
      [0, 0],
      [300, 3],
      [350, 4],
    ],
  });
  const places = [0, 50, 300, 325, 350, 400, 375].map((step) => along.at(step, NaN));
  assert.deepEqual(places, [0, 0.5, 3, 3.5, 4, 5, 4.5]);
  assert.equal(
    new XAxis("epoch", {
      began: 0,
      epochs: [
        [50, 2],
        [60, 3],
      ],
    }).at(40),
    1,
  );
});

test("a mark stands at the step where the run went on, or at its time", () => {
  const mark = { number: 0, event: "restore", step: 90, place: 40, wall: 1030 };
  const at = (axis) =>
    new XAxis(axis, {
      began: 1000,
      epochs: [
        [0, 0],
        [20, 1],
      ],
    }).mark(mark).at;
  assert.deepEqual(["step", "epoch", "relative", "wall"].map(at), [40, 2, 30, 1030]);
});

test("relative time begins with what counts of the training", () => {
  const machine = curve([0], [900], { tag: "system/cpu" });
  const set = curve([0], [950], { tag: "hyperparameters/learning_rate" });
  const gone = curve([1], [1000], { abandoned: true });
  const loss = curve([1, 2], [1010, 1011]);
  const validation = curve([1], [NaN], { tag: "val_loss" });
  assert.equal(startTime([machine, set, gone, loss, validation]), 1010);
  assert.equal(startTime([machine, set, gone]), 1000);
  assert.equal(startTime([machine, set]), 900);
  assert.equal(startTime([]), 0);
});

test("the places change with the axis, and with what is known for it", () => {
  const keys = ["step", "epoch", "relative", "wall"].map((axis) => [
    new XAxis(axis, KNOWN).key,
    new XAxis(axis, {
      began: 2,
      epochs: [
        [0, 0],
        [9, 1],
      ],
    }).key,
  ]);
  assert.deepEqual(
    keys.map(([one, other]) => one === other),
    [true, false, false, true],
  );
  assert.equal(new Set(keys.map(([one]) => one)).size, 4);
});
