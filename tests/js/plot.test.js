import assert from "node:assert/strict";
import { test } from "node:test";
import { yScale } from "../../nbtrain/panel/js/plot.js";

test("an axis of the largest numbers has two ends all the same", () => {
  for (const log of [false, true]) {
    const [min, max] = yScale(log).range(null, log ? 1 : -1.7e308, 1.7e308);
    assert.ok(Number.isFinite(max - min), `${min} to ${max}`);
    assert.ok(min < max);
  }
});
