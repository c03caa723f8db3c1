import assert from "node:assert/strict";
import { test } from "node:test";
import { chosen, domainOf } from "../../../nbtrain/panel/js/board/table/choice.js";

test("of numbers a range is chosen, of texts and truths each value", () => {
  assert.deepEqual(domainOf([3, 1, null, NaN, 2]), { low: 1, high: 3 });
  assert.deepEqual(domainOf(["b", "a", "b", null]), { values: ["a", "b", null] });
  assert.deepEqual(domainOf([true, false]), { values: [false, true] });
});

test("a column without a number has no range", () => {
  assert.deepEqual(domainOf([NaN, null]), { values: [NaN, null] });
});

test("an open range leaves every value, also what is missing", () => {
  assert.ok([1, null, "a", NaN].every((value) => chosen(value, { low: null, high: null })));
  assert.ok([1, null].every((value) => chosen(value, null)));
});

test("a range has both of its ends, and nothing that is no number", () => {
  const choice = { low: 1, high: 2 };
  assert.deepEqual(
    [0.9, 1, 2, 2.1, null, NaN, "1"].map((value) => chosen(value, choice)),
    [false, true, true, false, false, false, false],
  );
  assert.deepEqual(
    [-5, 7].map((value) => chosen(value, { low: null, high: 2 })),
    [true, false],
  );
});

test("values that are not wanted are left out, what is missing being one of them", () => {
  const choice = { without: new Set(["sgd", null]) };
  assert.deepEqual(
    ["adam", "sgd", null].map((value) => chosen(value, choice)),
    [true, false, false],
  );
});
