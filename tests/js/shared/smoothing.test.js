import assert from "node:assert/strict";
import { test } from "node:test";
import { smoothed, weightOf } from "../../../nbtrain/panel/js/shared/smoothing.js";

// TensorBoard's line chart: vz_line_chart2, resmoothDataset.
function asTensorboard(values, weight) {
  let [last, count] = [0, 0];
  return values.map((value) => {
    last = last * weight + (1 - weight) * value;
    return last / (1 - weight ** ++count);
  });
}
const close = (one, other) =>
  one.forEach((value, i) => assert.ok(Math.abs(value - other[i]) <= 1e-9 * Math.abs(other[i])));

test("the average equals TensorBoard's", () => {
  const values = Array.from({ length: 300 }, (_, i) => 3 + Math.sin(i * i));
  for (const weight of [0.1, 0.6, 0.99, 0.999])
    close(smoothed(values, weight), asTensorboard(values, weight));
});

test("gaps stay, and do not affect the average", () => {
  const column = [undefined, 1, null, 2, undefined, 3];
  const found = smoothed(column, 0.5);
  assert.deepEqual(
    found.map((y) => y ?? String(y)),
    ["undefined", 1, "null", ...asTensorboard([1, 2, 3], 0.5).slice(1, 2), "undefined", found[5]],
  );
  close([found[5]], asTensorboard([1, 2, 3], 0.5).slice(2));
});

test("buckets of several points weigh as their points, and a long curve as TensorBoard's samples", () => {
  assert.equal(weightOf(0.9, { buckets: 100, stride: 1 }), 0.9);
  assert.equal(weightOf(0.9, { buckets: 400, stride: 2 }), 0.9 ** 2);
  assert.equal(weightOf(0.9, { buckets: 500, stride: 2048 }), 0.9 ** 2);
});
