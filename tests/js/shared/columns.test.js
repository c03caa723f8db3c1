import assert from "node:assert/strict";
import { test } from "node:test";
import { columns, together } from "../../../nbtrain/panel/js/shared/columns.js";
import { curve, tail } from "../curves.js";

const plain = (data) => data.map((column) => [...column]);
const _ = undefined;

// Restored to step 2: a tail from there to 4, and a new segment that has come to step 3.
const RESTORED = [curve([1, 2], [3, 2]), tail([4], [1]), curve([3, 5], [9, 8], { segment: 1 })];

test("one curve becomes its steps, highest, lowest and mean", () => {
  const data = columns([curve([1, 2], [5, 6], { lo: [4, 5], hi: [7, 8] })]);
  assert.deepEqual(plain(data), [
    [1, 2],
    [7, 8],
    [4, 5],
    [5, 6],
  ]);
});

test("the line of a thinned curve ends before its last bucket, which may hold a single point; the band does not", () => {
  const [, hi, lo, mean] = plain(columns([curve([1, 5, 9], [2, 3, 9], { stride: 4 })]));
  assert.deepEqual(mean, [2, 3, _]);
  assert.deepEqual(
    [hi, lo],
    [
      [2, 3, 9],
      [2, 3, 9],
    ],
  );
  const [, gone] = plain(columns([tail([1, 5, 9], [2, 3, 9], { stride: 4 })]));
  assert.deepEqual(gone, [2, 3, _]);
  assert.deepEqual(plain(columns([curve([1], [2], { stride: 4 })]))[3], [2], "all there is");
  const [, left, , , line] = plain(
    columns([curve([1, 5], [2, 9], { stride: 4 }), tail([6], [7], { stride: 4 })]),
  );
  assert.deepEqual(
    [left, line],
    [
      [2, _, 7],
      [2, _, _],
    ],
    "a tail begins where the line ends",
  );
});

test("no curve becomes empty columns", () => {
  assert.deepEqual(plain(columns([])), [[], [], [], []]);
});

test("NaN and infinities are gaps in the line and in the band", () => {
  const [, hi, lo, mean] = plain(columns([curve([1, 2, 3, 4], [1, NaN, Infinity, -Infinity])]));
  for (const column of [hi, lo, mean]) assert.deepEqual(column, [1, null, null, null]);
});

test("what counts of all segments is one line; a tail is a column that begins where the line leaves it", () => {
  const [x, gone, , , mean] = plain(columns(RESTORED));
  assert.deepEqual(x, [1, 2, 3, 4, 5]);
  assert.deepEqual(gone, [_, 2, _, 1, _]);
  assert.deepEqual(mean, [3, 2, 9, _, 8]);
});

test("a tail that was left by another begins where that one ends", () => {
  const twice = [
    curve([1], [3]),
    tail([4], [1]),
    curve([], [], { segment: 1 }),
    tail([2, 3], [7, 6]),
    tail([3, 5], [9, 8], { segment: 1 }),
  ];
  const [x, first, second, third, , , mean] = plain(columns(twice));
  assert.deepEqual(x, [1, 2, 3, 4, 5]);
  assert.deepEqual(
    [first, second],
    [
      [_, _, 6, 1, _],
      [3, 7, 6, _, _],
    ],
  );
  assert.deepEqual(third, [_, _, 9, _, 8], "of another segment, which was left altogether");
  assert.deepEqual(mean, [3, _, _, _, _]);
});

test("a segment that was abandoned from its first step on is a tail alone", () => {
  const [, gone, , , mean] = plain(columns([curve([], []), tail([5, 6], [1, 2])]));
  assert.deepEqual(
    [gone, mean],
    [
      [1, 2],
      [_, _],
    ],
  );
});

test("two values at one step take one place", () => {
  assert.deepEqual(plain(columns([curve([1, 1, 2], [5, 6, 7])]))[3], [6, 7]);
});

test("a logarithmic scale leaves out what it cannot show, and cuts the band at the lowest it can", () => {
  const [, hi, lo, mean] = plain(
    columns([curve([1, 2, 3], [0, 3, 5], { lo: [0, -1, 2], hi: [0, 4, 6] })], { log: true }),
  );
  assert.deepEqual(
    [hi, lo, mean],
    [
      [null, 4, 6],
      [null, 2, 2],
      [null, 3, 5],
    ],
  );
});

test("two lines share their steps: first all tails, then highest, lowest and mean of each", () => {
  const data = plain(together([RESTORED, [curve([2, 6], [7, 6])]]));
  assert.deepEqual(data[0], [1, 2, 3, 4, 5, 6]);
  assert.equal(data.length, 1 + 1 + 3 + 3);
  assert.deepEqual(
    [data[1], data[4], data[7]],
    [
      [_, 2, _, 1, _, _],
      [3, 2, 9, _, 8, _],
      [_, 7, _, _, _, 6],
    ],
  );
});

test("steps of marks before the curve are in sight, but for those further off than it is long", () => {
  const steps = (places, x = [100, 200]) => [...together([[curve(x, x)]], { places })[0]];
  assert.deepEqual(steps([0, 150, 290]), [0, 100, 200]);
  assert.deepEqual(steps([-1, 301]), [100, 200]);
  assert.deepEqual(steps([0], [1]), [0, 1], "of a single point");
  assert.deepEqual([...together([[]], { places: [0] })[0]], [], "no curve");
  assert.deepEqual(plain(together([RESTORED], { places: [0] })).slice(1)[0], [_, _, 2, _, 1, _]);
});

test("each of two lines has a logarithmic scale's lowest of its own", () => {
  const data = plain(
    together([[curve([1], [5], { lo: [-1] })], [curve([1], [0.5])]], { log: true }),
  );
  assert.deepEqual(
    data.map(([y]) => y),
    [1, 5, 5, 5, 0.5, 0.5, 0.5],
  );
});

test("a smoothed line is one more column, in the order of the steps, beside the raw one", () => {
  const data = plain(columns([curve([1, 2, 3], [4, 0, 2])], { smooth: 0.5 }));
  assert.equal(data.length, 5);
  assert.deepEqual(data[3], [4, 0, 2]);
  assert.deepEqual(data[4], [4, 1 / 0.75, 1.5 / 0.875]);
});

test("values that a logarithmic scale cannot show are part of the average", () => {
  const curves = [curve([1, 2, 3], [4, -2, -9])];
  const [, , , mean, smooth] = plain(columns(curves, { smooth: 0.5, log: true }));
  assert.deepEqual(mean, [4, null, null]);
  assert.deepEqual(smooth, [4, null, null]);
});

test("a logarithmic axis has no place for step 0", () => {
  const data = plain(together([[curve([0, 1, 2], [7, 8, 9])]], { logX: true, places: [0] }));
  assert.deepEqual(data, [
    [1, 2],
    [8, 9],
    [8, 9],
    [8, 9],
  ]);
  assert.deepEqual(plain(together([[curve([0], [7])]], { logX: true }))[0], []);
});
