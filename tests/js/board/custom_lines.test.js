import assert from "node:assert/strict";
import { test } from "node:test";
import { labelled, margins } from "../../../nbtrain/panel/js/board/charts/custom_lines.js";
import { overlay, valuesAt } from "../../../nbtrain/panel/js/board/charts/overlay.js";

const curve = (run, x, mean) => ({
  run,
  stride: 1,
  numbers: {},
  x,
  mean,
  lo: mean,
  hi: mean,
  smooth: mean,
  tails: [],
});
const titleOf = (run) => (run === "." ? "digits" : run);
const named = (found) => labelled(new Map(Object.entries(found)), titleOf).map(({ run }) => run);
const SERIES = [{ value: "v", lower: "l", upper: "u" }];

test("a line is called by what tells it from the others", () => {
  const [a, b] = ["a", "b"].map((run) => curve(run, [1], [1]));
  assert.deepEqual(named({ loss: [a, b] }), ["a", "b"]);
  assert.deepEqual(named({ loss: [a], rate: [a] }), ["loss", "rate"]);
  assert.deepEqual(named({ loss: [a, b], rate: [b] }), ["loss · a", "loss · b", "rate · b"]);
});

test("a line of the logdir's own run is called by its folder", () => {
  const [own, b] = [".", "b"].map((run) => curve(run, [1], [1]));
  assert.deepEqual(named({ loss: [own, b] }), ["digits", "b"]);
  assert.deepEqual(named({ loss: [own], rate: [b] }), ["loss · digits", "rate · b"]);
});

test("a line knows its tag and its run, whatever it is called", () => {
  const [line] = labelled(
    new Map([
      ["loss", [curve("a", [1], [1])]],
      ["rate", []],
    ]),
    titleOf,
  );
  assert.deepEqual(line.of, { tag: "loss", run: "a" });
});

test("a value lies between its bounds, in a band that is drawn and told", () => {
  const found = new Map([
    ["v", [curve("a", [1, 2], [5, 6])]],
    ["l", [curve("a", [1, 2], [4, 5])]],
    ["u", [curve("a", [1, 2], [7, 8])]],
  ]);
  const { found: values, problems } = margins(SERIES, found, titleOf);
  const curves = labelled(values, titleOf);
  assert.deepEqual(problems, []);
  const { data, lines } = overlay(curves);
  assert.deepEqual(
    lines.map(({ kind }) => kind),
    ["hi", "lo", "line"],
  );
  assert.deepEqual(
    data.slice(1).map((column) => [...column]),
    [
      [7, 8],
      [4, 5],
      [5, 6],
    ],
  );
  const [{ lo, hi, margin }] = valuesAt(curves, 2);
  assert.deepEqual([lo, hi, margin], [5, 8, true]);
});

test("a bound that is no number leaves a gap in the band, not in the line", () => {
  const found = new Map([
    ["v", [curve("a", [1], [5])]],
    ["l", [curve("a", [1], [-Infinity])]],
    ["u", [curve("a", [1], [Infinity])]],
  ]);
  const { data } = overlay(labelled(margins(SERIES, found, titleOf).found, titleOf));
  assert.deepEqual(
    data.slice(1).map((column) => [...column]),
    [[null], [null], [5]],
  );
});

test("a run that lacks a bound has no line, one whose steps do not match is told", () => {
  const found = new Map([
    ["v", [curve("a", [1], [5]), curve("b", [1], [5]), curve("c", [1], [5])]],
    ["l", [curve("a", [1], [4]), curve("c", [2], [4])]],
    ["u", [curve("a", [1], [6]), curve("b", [1], [6]), curve("c", [1], [6])]],
  ]);
  const { found: values, problems } = margins(SERIES, found, titleOf);
  assert.deepEqual(
    values.get("v").map(({ run }) => run),
    ["a"],
  );
  assert.deepEqual(problems, ["In c the steps of v, l and u do not match."]);
});
