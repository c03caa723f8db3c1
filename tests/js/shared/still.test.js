import assert from "node:assert/strict";
import { test } from "node:test";
import { saveStill } from "../../../nbtrain/panel/js/shared/still.js";

const PICTURE = { "image/png": "new", "text/plain": "" };
const WORDS = { "text/html": '<div class="nbtrain-still">new</div>', "text/plain": "" };

const live = (id) => ({
  "application/vnd.jupyter.widget-view+json": { model_id: id },
  "text/plain": "nbtrain run",
});
const picture = (png) => ({ "image/png": png, "text/plain": "" });
const words = (text) => ({
  "text/html": `<div class="nbtrain-still">${text}</div>`,
  "text/plain": "",
});
const print = (text) => ({ "application/vnd.jupyter.stdout": text });
const figure = { "image/png": "mine", "text/plain": "<Figure size 640x480 with 1 Axes>" };

// A notebook as JupyterLab's widget manager knows it: of each cell the data of its outputs.
function notebook(...cells) {
  const outputs = (all) => ({
    length: all.length,
    get: (i) => ({ data: all[i], toJSON: () => ({ output_type: "display_data" }) }),
    set: (i, { data }) => (all[i] = data),
  });
  return {
    widget_manager: {
      context: { model: { cells: cells.map((all) => ({ outputs: outputs(all) })) } },
    },
  };
}

test("picture and words are put into the notebook whatever other threads show between them", () => {
  const cell = [
    print("0"),
    live("a"),
    print("1"),
    figure,
    picture("old"),
    print("2"),
    words("old"),
    print("3"),
  ];
  const before = [...cell];
  saveStill(notebook([print("x")], cell), { picture: PICTURE, words: WORDS, id: "a" });
  assert.deepEqual(cell.splice(4, 3), [PICTURE, print("2"), WORDS]);
  assert.deepEqual(cell, [...before.slice(0, 4), before[7]]);
});

test("of several widgets in a cell each has its own", () => {
  const cell = [
    live("a"),
    picture("old"),
    words("old"),
    live("b"),
    print("1"),
    picture("old"),
    words("old"),
  ];
  saveStill(notebook(cell), { picture: PICTURE, words: WORDS, id: "b" });
  assert.deepEqual(cell.slice(1, 3), [picture("old"), words("old")]);
  assert.deepEqual(cell.slice(5), [PICTURE, WORDS]);
});

test("without a notebook nothing is put anywhere", () => {
  saveStill({}, { picture: PICTURE, words: WORDS, id: "a" });
});
