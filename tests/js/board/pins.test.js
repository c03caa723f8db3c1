import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { BoardChoices } from "../../../nbtrain/panel/js/board/choices.js";
import { splitPinned } from "../../../nbtrain/panel/js/board/tags.js";
import { Choices } from "../../../nbtrain/panel/js/panel/choices.js";
import { window } from "../window.js";

test("pinned cards come first in the order of the pins, and nowhere else", () => {
  const found = new Map([
    ["loss", ["loss"]],
    ["image", ["image of a", "image of b"]],
    ["rate", ["rate"]],
  ]);
  const { pinned, others } = splitPinned(found, ["rate", "missing", "image"]);
  assert.deepEqual(pinned, ["rate", "image of a", "image of b"]);
  assert.deepEqual([...others.keys()], ["loss"]);
  assert.equal(found.size, 3, "what was given is left as it is");
});

test("pins of boards and of panels are kept splitPinned", () => {
  const page = window();
  const [board, panel] = [mock.fn(), mock.fn()];
  const [pins, charts] = [new BoardChoices(board, page), new Choices(panel, page)];
  pins.toggle("pins", "loss");
  assert.deepEqual([board.mock.callCount(), panel.mock.callCount()], [1, 0]);
  assert.deepEqual(charts.values.pins, []);
  assert.deepEqual(new BoardChoices(() => {}, page).values.pins, ["loss"]);
});

test("a view that is not known is that of the table", () => {
  const kept = { "nbtrain.board": '{"hparams": "cube", "pins": [3]}' };
  const { values } = new BoardChoices(() => {}, window(kept));
  assert.deepEqual(values, { pins: [], hparams: "table" });
});
