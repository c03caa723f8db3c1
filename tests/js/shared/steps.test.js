import assert from "node:assert/strict";
import { test } from "node:test";

import { choiceOf, placeOf } from "../../../nbtrain/panel/js/shared/cards/steps.js";

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
  const chosen = choiceOf([0, 10, 20, 30], 2);
  assert.equal(placeOf([0, 10, 30], chosen), 1);
  assert.equal(placeOf([30, 40], chosen), 0);
  assert.equal(placeOf([0, 10], chosen), 1);
});

test("each of several values of one step can be chosen, as of a writer that tells no step", () => {
  const steps = [0, 0, 0];
  assert.deepEqual(
    [0, 1, 2].map((place) => placeOf(steps, choiceOf(steps, place))),
    [0, 1, 2],
  );
  assert.equal(placeOf([...steps, 0], choiceOf(steps, 1)), 1);
});
