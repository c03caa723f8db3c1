import assert from "node:assert/strict";
import { test } from "node:test";
import {
  describe,
  describeValidation,
  logTicks,
  number,
  numberIn,
  shortened,
  tally,
  ticks,
} from "../../../nbtrain/panel/js/shared/format.js";

const bucket = (step, mean, more = {}) => ({
  x: step,
  step,
  mean,
  lo: mean,
  hi: mean,
  also: [],
  abandoned: false,
  ...more,
});

test("a number has four digits, as the kernel writes it", () => {
  const written = {
    0: "0",
    0.123456: "0.1235",
    1234.6: "1235",
    12346: "1.235e+04",
    0.00001234: "1.234e-05",
    "-0.5": "-0.5",
    9999.9: "1e+04",
  };
  for (const [value, text] of Object.entries(written)) assert.equal(number(Number(value)), text);
});

test("a number that is not finite is named", () => {
  assert.deepEqual([NaN, Infinity, -Infinity].map(number), ["NaN", "∞", "−∞"]);
});

test("labels of an axis have as many decimals as tell them apart", () => {
  assert.deepEqual(ticks([0, 0.25, 0.5, 0.75, 1]), ["0", "0.25", "0.50", "0.75", "1.00"]);
  assert.deepEqual(ticks([200, 600, 1000]), ["200", "600", "1,000"]);
  assert.deepEqual(ticks([-1, 0, 1]), ["-1", "0", "1"]);
});

test("labels of a nearly flat curve differ, too", () => {
  assert.deepEqual(ticks([0.1, 0.1 + 5e-7]), ["0.1000000", "0.1000005"]);
  assert.deepEqual(ticks([2.5, 2.5 + 2e-8, 2.5 + 4e-8]), [
    "2.50000000",
    "2.50000002",
    "2.50000004",
  ]);
  assert.deepEqual(ticks([0.5, 0.5 + 2e-12]), ["0.500000000000", "0.500000000002"]);
  assert.deepEqual(ticks([20000, 20000.0005]), ["20.0000000k", "20.0000005k"]);
  assert.deepEqual(ticks([1e-4, 1e-4 + 2e-15]), ["1e-4", "1.00000000002e-4"]);
});

test("large steps are in thousands and millions", () => {
  assert.deepEqual(ticks([0, 5000, 10000]), ["0", "5k", "10k"]);
  assert.deepEqual(ticks([0, 500000, 1000000]), ["0", "0.5M", "1.0M"]);
});

test("very small and very large labels are powers of ten", () => {
  assert.deepEqual(ticks([0, 0.000025, 0.00005, 0.000075, 0.0001]), [
    "0",
    "2.5e-5",
    "5e-5",
    "7.5e-5",
    "1e-4",
  ]);
  assert.deepEqual(ticks([3e9, 4e9]), ["3e9", "4e9"]);
  assert.deepEqual(ticks([1.00001e-4, 1.00002e-4]), ["1.00001e-4", "1.00002e-4"]);
});

test("labels of a logarithmic axis are plain near one; a line between the powers has none", () => {
  assert.deepEqual(logTicks([1e-5, 0.01, null, 1, 1e6]), ["1e-5", "0.01", "", "1", "1e6"]);
});

test("a bucket is described with its range when it holds several values", () => {
  assert.equal(describe(bucket(1240, 0.5)), "step 1,240  0.5");
  assert.equal(describe(bucket(8, 0.5, { lo: 0.25, hi: 1 })), "step 8  0.5  (0.25 to 1)");
  assert.equal(describe(null), "");
});

test("on another axis a bucket is described with its place there, too", () => {
  assert.equal(describe(bucket(1240, 0.5, { x: 2.4896 }), "epoch"), "step 1,240 · epoch 2.49  0.5");
  assert.equal(describe(bucket(1240, 0.5, { x: 75.4 }), "relative"), "step 1,240 · 1:15  0.5");
  assert.match(
    describe(bucket(8, 0.5, { x: 1.7e9 }), "wall"),
    /^step 8 · 2023-11-1\d \d\d:\d\d:20 {2}0.5$/,
  );
});

test("a bucket that is not finite, or abandoned, is described as such", () => {
  assert.equal(describe(bucket(8, NaN)), "step 8  NaN");
  assert.equal(describe(bucket(8, 2, { abandoned: true })), "step 8  2  abandoned");
});

test("a bucket tells what it holds beside finite values", () => {
  const mixed = bucket(8, 0.5, { lo: 0.25, hi: 1, also: ["NaN", "∞"] });
  assert.equal(describe(mixed), "step 8  0.5  (0.25 to 1)  also NaN and ∞");
  assert.equal(describeValidation(mixed, 8), "val 0.5 also NaN and ∞");
});

test("marks are counted by kind, without those of abandoned tails", () => {
  const marks = ["NaN", "∞", "NaN"].map((kind) => ({ x: 1, kind, count: 1, abandoned: false }));
  const gone = { x: 1, kind: "NaN", count: 1, abandoned: true };
  assert.equal(tally([...marks, gone]), "2 NaN · 1 ∞");
  assert.equal(tally([]), "");
  assert.equal(tally([...marks, { ...gone, count: 1200, abandoned: false }]), "1,202 NaN · 1 ∞");
  assert.equal(tally([{ x: 1, kind: "≤ 0", abandoned: false }]), "some ≤ 0", "not known");
});

test("a validation is described with its step where it is an earlier one", () => {
  assert.equal(describeValidation(bucket(1240, 0.5), 1240), "val 0.5");
  assert.equal(describeValidation(bucket(1200, 0.5), 1240), "val 0.5 at 1,200");
  assert.equal(describeValidation(bucket(8, NaN, { abandoned: true }), 8), "val NaN  abandoned");
});

test("a long text is told by its first words", () => {
  assert.equal(shortened("as it is", 8), "as it is");
  assert.equal(
    shortened("restore it with a smaller learning rate", 27),
    "restore it with a smaller …",
  );
  assert.equal(
    shortened("restore it with a smaller learning rate", 25),
    "restore it with a smaller …",
  );
  assert.equal(shortened("restore it with a smaller learning rate", 24), "restore it with a …");
  assert.equal(shortened("a" + "/path".repeat(20), 30), "a/path/path/path/path/path/path …");
});

test("a number is read as people write it, and what is none stays a text", () => {
  assert.deepEqual([" 1e-3 ", "−2", "fast", "", "1e999"].map(numberIn), [
    1e-3,
    -2,
    "fast",
    "",
    "1e999",
  ]);
});
