import assert from "node:assert/strict";
import { test } from "node:test";
import { ensured, known } from "../../../nbtrain/panel/js/shared/sure.js";

test("a key that should be known and is not, is named", () => {
  assert.equal(known(new Map([["loss", 0]]), "loss"), 0);
  assert.throws(() => known(new Map(), "loss"), /knows nothing of loss\./);
});

test("a value is made once", () => {
  /** @type {Map<string, number[]>} */
  const map = new Map();
  ensured(map, "loss", () => []).push(1);
  ensured(map, "loss", () => []).push(2);
  assert.deepEqual(map.get("loss"), [1, 2]);
});
