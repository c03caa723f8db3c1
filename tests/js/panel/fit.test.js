import assert from "node:assert/strict";
import { test } from "node:test";
import { HEAD, columnsOf, fitted, roomOf } from "../../../nbtrain/panel/js/panel/fit.js";

const GAP = 12;
const taken = (rows, plot) => rows * (plot + HEAD) + (rows - 1) * GAP;

test("charts use the width in as few rows as they need, of about the same length", () => {
  /** @param {number} width */
  const columns = (width) => [1, 2, 3, 4, 5, 6, 7, 9, 20].map((count) => columnsOf(count, width));
  assert.deepEqual(columns(460), [1, 1, 1, 1, 1, 1, 1, 1, 1]);
  assert.deepEqual(columns(956), [1, 2, 2, 2, 2, 2, 2, 2, 2]);
  assert.deepEqual(columns(1230), [1, 2, 3, 2, 3, 3, 3, 3, 3]);
  assert.deepEqual(
    [columnsOf(3, 0), columnsOf(0, 956)],
    [1, 1],
    "out of sight, and without charts",
  );
});

test("charts never take more than their room", () => {
  for (const columns of [1, 2, 3])
    for (let count = 1; count < 40; count++) {
      const { shown, plot } = fitted(count, { columns, height: null });
      assert.ok(taken(Math.ceil(shown / columns), plot) <= roomOf(count, columns));
    }
});

test("what does not fit is left out, unless all are wanted", () => {
  assert.deepEqual(fitted(9, { columns: 2, height: null }), { shown: 6, plot: 105 });
  assert.deepEqual(fitted(9, { columns: 2, height: null, all: true }), { shown: 9, plot: 105 });
  assert.equal(fitted(9, { columns: 1, height: null }).shown, 2);
});

test("a few charts are as high as they were", () => {
  assert.equal(fitted(1, { columns: 1, height: null }).plot, 240);
  assert.equal(fitted(2, { columns: 2, height: null }).plot, 180);
  assert.equal(fitted(4, { columns: 2, height: null }).plot, 176);
});

test("in the height that the reader chose all charts grow, and more of them fit", () => {
  assert.deepEqual(fitted(1, { columns: 1, height: 700 }), { shown: 1, plot: 700 - HEAD });
  assert.equal(fitted(9, { columns: 1, height: 700 }).shown, 5);
});

test("one row is shown, however little room there is", () => {
  assert.deepEqual(fitted(3, { columns: 2, height: 20 }), { shown: 2, plot: 104 });
});
