import assert from "node:assert/strict";
import { test } from "node:test";

import { inner } from "../../../nbtrain/panel/js/shared/outliers.js";

const middle = Array.from({ length: 100 }, (_, i) => i / 100); // from 0 to 0.99

test("one spike is left out on its side", () => {
  assert.deepEqual(inner([...middle, 3e29]), [0, 0.99]);
  assert.deepEqual(inner([-3e29, ...middle]), [0, 0.99]);
  assert.deepEqual(inner([-1e9, ...middle, 1e9]), [0, 0.99]);
});

test("values that are not far from the middle stay with it", () => {
  assert.deepEqual(inner([-3, ...middle, 4, 100]), [-3, 4]);
  assert.equal(inner([...middle, 5]), null);
  assert.equal(inner(middle), null);
});

test("equal values have no middle that could be flattened", () => {
  assert.equal(inner([...new Array(100).fill(1), 5]), null);
});

test("of few values all are shown", () => {
  assert.equal(inner([2.3, 0.9, 0.85, 0.3]), null);
  assert.equal(inner([...middle.slice(0, 19), 1e9]), null);
  assert.deepEqual(inner([...middle.slice(0, 20), 1e9]), [0, 0.19]);
  assert.equal(inner([]), null);
});
