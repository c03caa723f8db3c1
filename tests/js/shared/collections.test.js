import assert from "node:assert/strict";
import { test } from "node:test";
import { getOrMake, get } from "../../../nbtrain/panel/js/shared/collections.js";

test("a key that should be known and is not, is named", () => {
  assert.equal(get(new Map([["loss", 0]]), "loss"), 0);
  assert.throws(() => get(new Map(), "loss"), /knows nothing of loss\./);
});

test("a value is made once", () => {
  /** @type {Map<string, number[]>} */
  const map = new Map();
  getOrMake(map, "loss", () => []).push(1);
  getOrMake(map, "loss", () => []).push(2);
  assert.deepEqual(map.get("loss"), [1, 2]);
});
