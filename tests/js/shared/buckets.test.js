import assert from "node:assert/strict";
import { test } from "node:test";
import {
  best,
  bucketAt,
  bucketUpTo,
  isAbandoned,
  marks,
} from "../../../nbtrain/panel/js/shared/buckets.js";
import { curve, tail } from "../curves.js";

// Restored to step 2: a tail from there to 4, and a new segment that has come to step 3.
const RESTORED = [curve([1, 2], [3, 2]), tail([4], [1]), curve([3, 5], [9, 8], { segment: 1 })];

test("a curve is abandoned once nothing of it counts", () => {
  assert.equal(isAbandoned(RESTORED), false);
  assert.equal(isAbandoned([curve([], []), tail([3, 5], [9, 8])]), true);
  assert.equal(isAbandoned([curve([], [])]), false, "nothing is there yet");
});

test("NaN and infinities are marked", () => {
  const found = marks([curve([1, 2, 3, 4], [1, NaN, Infinity, -Infinity])]);
  assert.deepEqual(
    found.map(({ x, kind }) => [x, kind]),
    [
      [2, "NaN"],
      [3, "∞"],
      [4, "−∞"],
    ],
  );
});

test("a bucket that holds both infinities is marked, though its mean is NaN", () => {
  const [{ kind }] = marks([curve([1], [NaN], { lo: [-Infinity], hi: [Infinity] })]);
  assert.equal(kind, "∞");
});

test("what a logarithmic scale cannot show is marked there only", () => {
  const curves = [curve([1, 2], [0, 3])];
  assert.deepEqual(marks(curves, { log: true }), [
    { x: 1, kind: "≤ 0", count: 1, abandoned: false },
  ]);
  assert.deepEqual(marks(curves), []);
});

test("a mark in an abandoned tail says so", () => {
  assert.deepEqual(marks([curve([1], [1]), tail([2], [NaN])]), [
    { x: 2, kind: "NaN", count: 1, abandoned: true },
  ]);
});

test("a bucket with some finite values is told by these, and the others are marked with their number", () => {
  const unseen = [null, [2, 0, 1], [0, 1, 0], [1, 0, 1]];
  const mixed = curve([1, 5, 9, 13], [2, 3, NaN, NaN], { stride: 4, unseen });
  assert.deepEqual(
    marks([mixed]).map(({ x, kind, count }) => [x, kind, count]),
    [
      [5, "NaN", 2],
      [5, "−∞", 1],
      [9, "∞", 1],
      [13, "NaN", 1],
      [13, "−∞", 1],
    ],
  );
  assert.deepEqual(
    [1, 5, 9, 13].map((x) => bucketAt([mixed], x)).map(({ mean, also }) => [mean, also]),
    [
      [2, []],
      [3, ["NaN", "−∞"]],
      [Infinity, []],
      [NaN, ["−∞"]],
    ],
  );
});

test("how many values of a bucket a logarithmic scale cannot show is not known", () => {
  const mixed = curve([1], [-1], { stride: 4, unseen: [[3, 0, 0]] });
  assert.deepEqual(
    marks([mixed], { log: true }).map(({ kind, count }) => [kind, count]),
    [
      ["NaN", 3],
      ["≤ 0", undefined],
    ],
  );
});

test("the bucket at a step is the nearest one of what counts", () => {
  assert.equal(bucketAt([curve([1, 5, 9], [3, 2, 1])], 6).x, 5);
  assert.equal(bucketAt([curve([1, 5, 9], [3, 2, 1])], 8).x, 9);
  assert.equal(bucketAt(RESTORED, 4).mean, 9);
});

test("beyond what counts it is the abandoned one", () => {
  const curves = [
    curve([1, 2], [4, 3]),
    tail([8, 9], [2, 1]),
    curve([3, 4], [9, 8], { segment: 1 }),
  ];
  assert.deepEqual([bucketAt(curves, 8.8).mean, bucketAt(curves, 8.8).abandoned], [1, true]);
  assert.deepEqual([bucketAt(curves, 3.6).mean, bucketAt(curves, 3.6).abandoned], [8, false]);
});

test("a bucket that is not finite is found by its step, too", () => {
  assert.equal(bucketAt([curve([1, 2, 3], [1, NaN, 2])], 2).mean, NaN);
});

test("without buckets there is none", () => {
  assert.equal(bucketAt([], 3), null);
});

test("up to a step it is the latest bucket, and before the first there is none", () => {
  const curves = [curve([10, 20], [3, 2])];
  assert.deepEqual(
    [9, 10, 19, 99].map((step) => bucketUpTo(curves, step)?.x),
    [undefined, 10, 10, 20],
  );
  assert.equal(bucketUpTo([], 5), null);
});

test("up to a step an abandoned bucket is told only beside an abandoned one", () => {
  assert.deepEqual([bucketUpTo(RESTORED, 4).x, bucketUpTo(RESTORED, 4).abandoned], [3, false]);
  const beside = bucketUpTo(RESTORED, 4, { abandoned: true });
  assert.deepEqual([beside.x, beside.abandoned], [4, true]);
});

test("the best value is of what counts, with its step or the steps of its bucket", () => {
  const curves = [tail([4], [-1]), curve([1, 2, 3], [3, NaN, 2])];
  assert.deepEqual(best(curves, { higher: false, last: 4 }), { value: 2, from: 3, to: 3 });
  assert.deepEqual(best(curves, { higher: true, last: 4 }), { value: 3, from: 1, to: 1 });
  const thinned = curve([1, 5, 9], [2, 3, 4], { stride: 4, lo: [1, 0.5, 4], hi: [2, 3, 4] });
  assert.deepEqual(best([thinned], { higher: false, last: 12 }), { value: 0.5, from: 5, to: 8 });
  const late = curve([1, 5], [2, 1], { stride: 4 });
  assert.deepEqual(best([late], { higher: false, last: 7 }), { value: 1, from: 5, to: 7 });
  assert.deepEqual(best([late], { higher: false, last: 5 }), { value: 1, from: 5, to: 5 });
  const next = curve([7, 11], [3, 3], { stride: 4 });
  assert.deepEqual(best([late, next], { higher: false, last: 12 }), { value: 1, from: 5, to: 6 });
  assert.equal(best([tail([4], [1])], { higher: false, last: 4 }), null);
});
