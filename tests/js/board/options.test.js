import assert from "node:assert/strict";
import { test } from "node:test";
import { optionsOf, written } from "../../../nbtrain/panel/js/board/options.js";

const BEGIN = { tab: "images", x: "wall", smooth: 0.5 };

test("a board begins as the cell has it", () => {
  const { tab, x, smooth, logX, tags } = optionsOf(BEGIN);
  assert.deepEqual({ tab, x, smooth, logX, tags }, { ...BEGIN, logX: false, tags: "" });
});

test("what was chosen is the same again, whatever the names", () => {
  const options = optionsOf(BEGIN);
  Object.assign(options, { tab: "scalars", x: "step", logX: true, tags: "a|b", runs: "^r" });
  options.off.add("__proto__");
  options.zooms.set("__proto__", { min: 1, max: 2 });
  options.logs.add("");
  options.outliers.add("loss");
  options.open.set("scalars", new Map([["__proto__", false]]));
  assert.deepEqual(optionsOf({ ...BEGIN, kept: written(options) }), options);
});
