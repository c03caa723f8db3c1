import assert from "node:assert/strict";
import { test } from "node:test";

import { choiceOf, placeOf } from "../../nbtrain/panel/js/steps.js";

test("a slider that was left alone shows the newest step, however many come", () => {
  assert.equal(placeOf([0], null), 0);
  assert.equal(placeOf([0, 10, 20], null), 2);
  assert.equal(placeOf([], null), -1);
});

test("a slider stays at the step it was put to while others come", () => {
  const chosen = choiceOf([0, 10, 20], 1);
  assert.equal(placeOf([0, 10, 20, 30, 40], chosen), 1);
});

test("a slider that was put to the end shows the newest step again", () => {
  const chosen = choiceOf([0, 10, 20], 2);
  assert.equal(placeOf([0, 10, 20, 30], chosen), 3);
});

test("where the chosen step was abandoned the last before it is shown", () => {
  assert.equal(placeOf([0, 10, 30], 20), 1);
  assert.equal(placeOf([10, 30], 5), 0);
  assert.equal(placeOf([0, 10], 20), 1);
});
