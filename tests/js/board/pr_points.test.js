import assert from "node:assert/strict";
import { test } from "node:test";

import {
  decodePr,
  merged,
  nearestPoint,
} from "../../../nbtrain/panel/js/board/charts/pr_points.js";

/** A curve of these recalls and precisions. */
const curve = (recall, precision) => ({ recall, precision });

test("a buffer holds the steps, their wall times, and seven rows", () => {
  const rows = [0, 1, 2, 3, 4, 5, 6].flatMap((row) => [row, row + 0.5]);
  const numbers = new Float64Array([0, 10, 20, 100, 110, 120, ...rows]);
  const { steps, walls, rows: found } = decodePr({ steps: 3 }, numbers.buffer);
  assert.deepEqual(steps, [0, 10, 20]);
  assert.deepEqual(walls, [100, 110, 120]);
  assert.deepEqual(found.threshold, [0, 0.5]);
  assert.deepEqual(found.falseNegatives, [4, 4.5]);
  assert.deepEqual(found.recall, [6, 6.5]);
});

test("curves share an axis on which recall rises", () => {
  const { data, places } = merged([
    curve([1, 0.5, 0], [0.2, 0.6, 1]),
    curve([0.7, 0.5], [0.3, 0.9]),
  ]);
  assert.deepEqual(data[0], [0, 0.5, 0.5, 0.7, 1]);
  assert.deepEqual(data[1], [1, 0.6, undefined, undefined, 0.2]);
  assert.deepEqual(data[2], [undefined, undefined, 0.9, 0.3, undefined]);
  assert.deepEqual(places, [
    [4, 1, 0],
    [3, 2],
  ]);
});

test("a line keeps the order of its thresholds where recall is the same", () => {
  const { data } = merged([curve([1, 0.5, 0.5, 0.5], [0.2, 0.4, 0.6, 0.8])]);
  assert.deepEqual(data[1], [0.8, 0.6, 0.4, 0.2]);
});

test("no curves and empty ones have no points", () => {
  assert.deepEqual(merged([]), { data: [[]], places: [] });
  assert.deepEqual(merged([curve([], [])]), { data: [[], []], places: [[]] });
});

test("the nearest point is found by what counts as far", () => {
  const line = curve([1, 0.5, 0], [0.2, 0.6, 1]);
  assert.equal(
    nearestPoint(line, (x) => Math.abs(x - 0.4)),
    1,
  );
  assert.equal(
    nearestPoint(line, (x, y) => Math.hypot(x, y - 1)),
    2,
  );
  assert.equal(
    nearestPoint(curve([], []), () => 0),
    undefined,
  );
});
