import assert from "node:assert/strict";
import { test } from "node:test";
import { brief, fitsOf, folderOf, leader } from "../../nbtrain/panel/js/board/fits.js";
import { sideBySide } from "../../nbtrain/panel/js/board/table/side_by_side.js";
import { style } from "../../nbtrain/panel/js/board/tags.js";

const names = (...runs) => [...fitsOf(runs).values()].map(({ name }) => name);

test("a validation has the colour of its training, dashed", () => {
  const runs = new Set(["a/train", "a/validation", "b/validation", "train", "validation"]);
  assert.equal(leader("a/validation", runs), "a/train");
  assert.equal(leader("validation", runs), "train");
  assert.equal(leader("b/validation", runs), "b/validation", "nothing was trained there");
  assert.equal(leader("a/train", runs), "a/train");
  const [train, validation] = [false, true].map((validates) => style(3, ["a", "b"], validates));
  assert.equal(train.colour, validation.colour);
  assert.notDeepEqual(train.dash, validation.dash);
});

test("the training and the validation of a fit are one run with the name of their folder", () => {
  const found = fitsOf(["b", "x/a/validation", "x/a/train"]);
  assert.deepEqual([...found.keys()], ["b", "x/a/train"]);
  assert.deepEqual(found.get("x/a/train"), {
    lead: "x/a/train",
    name: "x/a",
    runs: ["x/a/train", "x/a/validation"],
  });
});

test("a fit whose folder is a run itself, or has no name, is called by its two runs", () => {
  assert.deepEqual(names("a", "a/train", "a/validation"), ["a", "a/train + validation"]);
  assert.deepEqual(names("train", "validation"), ["train + validation"]);
});

test("a half of a fit keeps its own name, whatever else there is", () => {
  assert.deepEqual(names("a/train", "b/validation"), ["a/train", "b/validation"]);
  const all = new Set(["a/train", "a/validation"]);
  const [fit] = fitsOf(["a/validation"], all).values();
  assert.deepEqual(fit, { lead: "a/train", name: "a/validation", runs: ["a/validation"] });
});

test("the folders that all runs are in are known, and nothing of their own names", () => {
  assert.equal(folderOf(["x/y/adam1", "x/y/adam2"]), "x/y/");
  assert.equal(folderOf(["x/y/a", "x/z/a"]), "x/");
  assert.equal(folderOf(["x/a", "xy/a"]), "");
  assert.equal(folderOf(["x/a", "x"]), "");
  assert.equal(folderOf(["x/a"]), "", "a single run keeps its name");
  assert.equal(folderOf([]), "");
});

test("a very long name keeps both of its ends", () => {
  assert.equal(brief("short"), "short");
  const text = brief(`begin${"-".repeat(300)}end`);
  assert.match(text, /^begin-+…-+end$/);
  assert.ok(text.length <= 91);
});

test("runs are compared by fit, each with a row for its validation", () => {
  const content = {
    t: "compare",
    runs: ["a/train", "a/validation", "b"],
    hparams: [{ name: "rate", values: [0.1, 0.1, { float: "NaN" }], same: false }],
    tags: ["loss", "only"],
    higher: [false, null],
  };
  const numbers = (last) => [last, 9, last, 1, last, 1, 5];
  const none = Array(6).fill(NaN).concat(0);
  const rows = [numbers(1), numbers(2), numbers(3), none, numbers(4), none];
  const { fits, hparams, scalars } = sideBySide(
    content,
    new Float64Array(rows.flat()).buffer,
    new Set(content.runs),
  );
  assert.deepEqual(
    fits.map(({ name }) => name),
    ["a", "b"],
  );
  assert.deepEqual(hparams[0].values, [0.1, NaN]);
  const told = scalars.map(({ tag, validates, numbers: of }) => [
    tag,
    validates,
    of.map(({ last }) => last),
  ]);
  assert.deepEqual(told, [
    ["loss", false, [1, 3]],
    ["loss", true, [2, NaN]],
    ["only", true, [4, NaN]],
  ]);
});
