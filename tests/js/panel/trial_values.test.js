import assert from "node:assert/strict";
import { test } from "node:test";
import {
  CHOICE,
  commandOf,
  decidersOf,
  inWords,
  settingsIn,
  DEFAULT,
  valuesIn,
} from "../../../nbtrain/panel/js/panel/trial_values.js";

const typed = (texts, more = {}) => ({
  values: Object.entries(texts).map(([name, text]) => ({ name, text, now: 1 })),
  steps: "200",
  tag: "loss",
  repeats: "1",
  range: false,
  low: "1e-6",
  high: "1",
  ...more,
});

test("a scalar of which nobody knows what is better decides one way or the other", () => {
  const found = decidersOf(["loss", "elbo"], { loss: false });
  assert.deepEqual(found, ["loss", "max:elbo", "min:elbo"]);
  assert.deepEqual(found.map(inWords), [
    "loss",
    "elbo (higher is better)",
    "elbo (lower is better)",
  ]);
});

test("commas separate the values of a list", () => {
  assert.equal(valuesIn("0.5"), 0.5);
  assert.deepEqual(valuesIn("3e-4, 1e-3,3e-3"), [3e-4, 1e-3, 3e-3]);
  assert.deepEqual(valuesIn("1; 2 ;"), [1, 2]);
  assert.deepEqual(valuesIn("1, fast"), [1, "fast"]);
});

test("several lists are a grid", () => {
  const count = (texts) => settingsIn(typed(texts));
  assert.deepEqual(count({ a: "1" }), { several: false, count: 1 });
  assert.deepEqual(count({ a: "1,2", b: "3" }), { several: true, count: 2 });
  assert.deepEqual(count({ a: "1,2", b: "3,4,5" }), { several: true, count: 6 });
});

test("one value is undone if it is worse, and of several the best stays", () => {
  const one = { command: "try", values: { a: 1 }, steps: 200, keep_if: "loss" };
  assert.deepEqual(commandOf(typed({ a: "1" })), one);
  assert.deepEqual(commandOf(typed({ a: "1" }, { tag: DEFAULT })), { ...one, keep_if: null });
  const several = { command: "try", values: { a: [1, 2], b: 3 }, steps: 200, keep_if: "loss" };
  const both = { a: "1, 2", b: "3" };
  assert.deepEqual(commandOf(typed(both)), several);
  const usual = commandOf(typed(both, { tag: DEFAULT }));
  assert.equal(usual.keep_if, "val_loss", "null would leave the choice to the user");
  assert.equal(commandOf(typed(both, { tag: CHOICE })).keep_if, null);
});

test("only several values are repeated", () => {
  assert.equal(commandOf(typed({ a: "1,2" }, { repeats: "3" })).repeats, 3);
  assert.equal("repeats" in commandOf(typed({ a: "1,2" })), false);
  assert.equal("repeats" in commandOf(typed({ a: "1" }, { repeats: "3" })), false);
});

test("a range test grows its only value from the first limit to the second", () => {
  const asked = typed({ rate: "0.1,0.2", b: "3" }, { range: true, low: "1e-5", steps: "60" });
  assert.deepEqual(commandOf(asked), {
    command: "try",
    values: { rate: 1e-5 },
    steps: 60,
    keep_if: null,
    sweep: [1e-5, 1],
  });
});
