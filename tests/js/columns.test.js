import assert from "node:assert/strict";
import { test } from "node:test";
import { bucketAt, columns, describe, marks, number } from "../../nbtrain/panel/js/columns.js";

const curve = (x, mean, more = {}) => ({ tag: "loss", segment: 0, stride: 1, until: null, x, mean, lo: mean, hi: mean, ...more });

test("one curve becomes x, mean, hi, lo and an empty abandoned column", () => {
  const [x, mean, hi, lo, gone] = columns([curve([1, 2], [5, 6], { lo: [4, 5], hi: [7, 8] })]);
  assert.deepEqual([x, mean, hi, lo], [[1, 2], [5, 6], [7, 8], [4, 5]]);
  assert.deepEqual([...gone], [undefined, undefined]);
});

test("NaN and infinities are gaps in the line", () => {
  const [, mean, hi] = columns([curve([1, 2, 3], [1, NaN, Infinity])]);
  assert.deepEqual(mean, [1, null, null]);
  assert.deepEqual(hi, [1, null, null]);
});

test("NaN and infinities are marked", () => {
  const found = marks([curve([1, 2, 3, 4], [1, NaN, Infinity, -Infinity])]);
  assert.deepEqual(found, [{ x: 2, sign: "×" }, { x: 3, sign: "▲" }, { x: 4, sign: "▼" }]);
});

test("two segments share one x; what belongs to the other is no gap", () => {
  const data = columns([curve([1, 2, 3], [3, 2, 1], { until: 2 }), curve([3, 4], [9, 8], { segment: 1 })]);
  assert.deepEqual(data[0], [1, 2, 3, 4]);
  assert.deepEqual([...data[1]], [3, 2, undefined, undefined]);
  assert.deepEqual([...data[4]], [undefined, 2, 1, undefined]);
  assert.deepEqual([...data[5]], [undefined, undefined, 9, 8]);
});

test("a logarithmic scale leaves out what it cannot show", () => {
  assert.deepEqual(columns([curve([1, 2], [0, 3])], { log: true })[1], [null, 3]);
});

test("the bucket at a step is that of the newest segment that covers it", () => {
  const curves = [curve([1, 5, 9], [3, 2, 1]), curve([6, 8], [30, 20], { segment: 1 })];
  assert.equal(bucketAt(curves, 7).mean, 30);
  assert.equal(bucketAt(curves, 5.5).mean, 2);
  assert.equal(bucketAt(curves, 0), null);
});

test("a bucket is described with its range when it holds several steps", () => {
  assert.equal(describe({ x: 1240, stride: 1, mean: 0.5, lo: 0.5, hi: 0.5 }), "step 1,240  0.5");
  assert.equal(describe({ x: 8, stride: 4, mean: 0.5, lo: 0.25, hi: 1 }), "step 8  0.5  (0.25 to 1)");
  assert.equal(describe({ x: 8, stride: 1, mean: NaN, lo: NaN, hi: NaN }), "step 8  NaN");
  assert.equal(describe(null), "");
});

test("numbers keep four digits", () => {
  assert.equal(number(0.123456), "0.1235");
  assert.equal(number(1234.5), "1235");
  assert.equal(number(0.00001234), "1.23e-5");
  assert.equal(number(1e9), "1.00e+9");
  assert.equal(number(-Infinity), "−∞");
});
