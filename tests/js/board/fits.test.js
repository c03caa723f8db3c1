import assert from "node:assert/strict";
import { test } from "node:test";
import { brief, fitsOf } from "../../../nbtrain/panel/js/board/fits.js";
import { sideBySide } from "../../../nbtrain/panel/js/board/table/side_by_side.js";
import { style } from "../../../nbtrain/panel/js/board/tags.js";

const FIT = { lead: "x/a/train", name: "x/a", runs: ["x/a/train", "x/a/validation"] };
const fitOf = new Map(FIT.runs.map((run) => [run, FIT]));

test("a validation has the colour of its training, dashed", () => {
  const [train, validation] = [false, true].map((validates) => style(3, ["a", "b"], validates));
  assert.equal(train.colour, validation.colour);
  assert.notDeepEqual(train.dash, validation.dash);
});

test("the runs of a fit are one, and each other run is one by itself", () => {
  const found = fitsOf(["b", ...FIT.runs], fitOf);
  assert.deepEqual(
    [...found],
    [
      ["b", { lead: "b", name: "b", runs: ["b"] }],
      ["x/a/train", FIT],
    ],
  );
});

test("a half of a fit has its own name", () => {
  const [fit] = fitsOf(["x/a/validation"], fitOf).values();
  assert.deepEqual(fit, { lead: "x/a/train", name: "x/a/validation", runs: ["x/a/validation"] });
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
    runs: [...FIT.runs, "b"],
    about: [
      { secs: 5, tags: ["best"], notes: ["flat"] },
      { secs: 8, tags: [], notes: [] },
      { secs: 2, tags: [], notes: [] },
    ],
    hparams: [{ name: "rate", values: [0.1, 0.1, { float: "NaN" }], same: false }],
    tags: ["loss", "only"],
    higher: [false, null],
  };
  const numbers = (last) => [last, 9, last, 1, last, 1, 5];
  const none = Array(6).fill(NaN).concat(0);
  const rows = [numbers(1), numbers(2), numbers(3), none, numbers(4), none];
  const { fits, about, hparams, scalars } = sideBySide(
    content,
    new Float64Array(rows.flat()).buffer,
    fitOf,
  );
  assert.deepEqual(
    fits.map(({ name }) => name),
    ["x/a", "b"],
  );
  assert.deepEqual(about, [
    { secs: 8, tags: ["best"], notes: ["flat"] },
    { secs: 2, tags: [], notes: [] },
  ]);
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
