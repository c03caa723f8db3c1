import assert from "node:assert/strict";
import { test } from "node:test";
import { summary } from "../../../nbtrain/panel/js/panel/values.js";
import { curve, tail } from "../curves.js";

test("a line in words is its newest, lowest and highest value, and its steps", () => {
  const curves = [tail([3, 4], [9, 9]), curve([1, 2], [0.5, NaN]), curve([3, 1500], [2, 1])];
  assert.equal(
    summary([
      { tag: "loss", curves, last: "1.25" },
      { tag: "val_loss", curves: [] },
    ]),
    "loss: newest 1.25, lowest 0.5, highest 2, steps 1 to 1,500; val_loss: no values",
  );
});

test("an abandoned line has words too, and so has one without a finite value", () => {
  assert.equal(
    summary([{ tag: "loss", curves: [tail([3, 4], [NaN, NaN])] }]),
    "loss: newest NaN, lowest NaN, highest NaN, steps 3 to 4",
  );
});
