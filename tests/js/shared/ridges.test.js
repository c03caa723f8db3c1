import assert from "node:assert/strict";
import { test } from "node:test";

import { binAt, ridges } from "../../../nbtrain/panel/js/shared/cards/ridges.js";

const edges = [0, 1, 2, 3];
const counts = [
  [0, 4, 0],
  [2, 0, 0],
  [1, 2, 3],
];
const steps = [0, 10, 20];

test("one behind another, a ridge rises from its step towards lower ones", () => {
  const { data, order, bases, rise } = ridges({ edges, counts, steps, marked: 2, overlay: false });
  assert.deepEqual(order, [0, 1, 2]);
  assert.deepEqual(bases, [0, 10, 20]);
  assert.equal(data[1][3], 0 - rise, "the highest rises over the whole of it");
  assert.equal(data[2][1], 10 - rise / 2);
});

test("the marked one is drawn last, as stairs", () => {
  const { data, order, bases } = ridges({ edges, counts, steps, marked: 0, overlay: true });
  assert.deepEqual(order, [1, 2, 0]);
  assert.deepEqual(bases, [0, 0, 0]);
  assert.deepEqual(data[0], [0, 0.5, 1, 1.5, 2, 2.5, 3]);
  assert.deepEqual(data[3], [0, 0, 4, 4, 0, 0, 0]);
});

test("the others lead from middle to middle, and no line is where nothing is", () => {
  const { data } = ridges({ edges, counts, steps, marked: 2, overlay: true });
  assert.deepEqual(data[1], [null, 0, 2, 4, 2, 0, null]);
});

test("empty histograms are flat", () => {
  const { data } = ridges({ edges, counts: [[0, 0, 0]], steps: [7], marked: 0, overlay: false });
  assert.deepEqual(data[1], Array(7).fill(7));
});

test("each value has its bin, the nearest where it is beyond them", () => {
  assert.deepEqual(
    [-1, 0, 0.5, 1, 2.9, 3, 9].map((value) => binAt(edges, value)),
    [0, 0, 0, 1, 2, 2, 2],
  );
});
