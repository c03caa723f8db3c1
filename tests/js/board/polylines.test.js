import assert from "node:assert/strict";
import { test } from "node:test";
import { Polylines } from "../../../nbtrain/panel/js/board/hparams/polylines.js";
import { axisOf } from "../../../nbtrain/panel/js/board/hparams/value_axis.js";

const ROOM = { xs: [100, 200, 300], top: 0, bottom: 100, none: 120 };
const VALUES = [
  [0, 10, 0],
  [10, 0, 10],
  [0, null, 0],
];
const rows = VALUES.map((values, i) => ({ run: `run${i}`, status: "unknown", values }));
const axes = [0, 1, 2].map((i) => {
  const values = rows.map((row) => row.values[i]);
  return { column: { values, valueOf: (row) => row.values[i] }, axis: axisOf(values) };
});
const lines = new Polylines(rows, axes);

test("a line has a height at each axis, and one below it where there is no value", () => {
  assert.deepEqual(
    [0, 1, 2].map((axis) => lines.heightOf(rows[0], axis, ROOM)),
    [100, 0, 100],
  );
  assert.equal(lines.heightOf(rows[2], 1, ROOM), 120);
});

test("the nearest line is found between axes, at them and beyond them", () => {
  const at = (x, y) => lines.nearest(rows, { x, y }, ROOM);
  assert.equal(at(125, 72).row, rows[0]);
  assert.equal(at(175, 72).row, rows[1]);
  assert.equal(at(200, 118).row, rows[2]);
  assert.deepEqual(at(200, 118).distance, 2);
  assert.equal(at(20, 5).row, rows[1], "before the first axis");
  assert.equal(at(999, 5).row, rows[1], "after the last");
});

test("only lines that are meant are found", () => {
  assert.equal(lines.nearest([rows[1]], { x: 100, y: 100 }, ROOM).row, rows[1]);
  assert.equal(lines.nearest([], { x: 100, y: 100 }, ROOM), null);
});

test("one axis alone has lines as well", () => {
  const alone = new Polylines(rows, axes.slice(0, 1));
  const found = alone.nearest(rows, { x: 40, y: 3 }, { ...ROOM, xs: [50] });
  assert.equal(found.row, rows[1]);
});
