import assert from "node:assert/strict";
import { test } from "node:test";
import { difference } from "../../../nbtrain/panel/js/board/table/difference.js";

test("a difference is told with its sign, and as a part of the baseline", () => {
  assert.equal(difference(0.55, 0.5), "+0.05, +10 %");
  assert.equal(difference(0.25, 0.5), "-0.25, -50 %");
  assert.equal(difference(2, 2), "±0");
});

test("over a negative baseline more is still more", () => {
  assert.equal(difference(-1, -2), "+1, +50 %");
});

test("over zero there is no part", () => {
  assert.equal(difference(0.5, 0), "+0.5");
});

test("what is no number has no difference", () => {
  assert.deepEqual(
    [
      [NaN, 1],
      [1, Infinity],
      [null, 1],
      [1, undefined],
    ].map(([value, base]) => difference(value, base)),
    ["", "", "", ""],
  );
});
