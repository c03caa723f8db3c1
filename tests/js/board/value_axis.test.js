import assert from "node:assert/strict";
import { test } from "node:test";
import { filterOf, stretchesOf } from "../../../nbtrain/panel/js/board/hparams/brush.js";
import { colourAt } from "../../../nbtrain/panel/js/board/hparams/colouring.js";
import {
  axisOf,
  fitting,
  numberAt,
  placeOf,
  ticksOf,
} from "../../../nbtrain/panel/js/board/hparams/value_axis.js";
import { chosen } from "../../../nbtrain/panel/js/board/table/choice.js";

const near = (value, wanted) => assert.ok(Math.abs(value - wanted) < 1e-9, `${value}, ${wanted}`);

test("values that span decades have a logarithmic axis, unless the reader wants another", () => {
  const rates = [1e-4, 1e-2, 1e-3];
  assert.equal(axisOf(rates).scale, "log");
  near(placeOf(axisOf(rates), 1e-3), 0.5);
  assert.equal(axisOf(rates, false).scale, "linear");
  assert.equal(axisOf([16, 256]).scale, "linear");
  assert.equal(axisOf([16, 256], true).scale, "log");
});

test("what is not positive, or one value, has no logarithmic axis, wanted or not", () => {
  for (const values of [[0, 1000], [-1, 1000], [5], [5, null, NaN]]) {
    const axis = axisOf(values, true);
    assert.deepEqual([axis.canLog, axis.scale], [false, "linear"]);
  }
  assert.equal(placeOf(axisOf([5]), 5), 0.5);
});

test("a value that is missing or no number has no place", () => {
  const axis = axisOf([0, 10, null, NaN, Infinity]);
  assert.deepEqual(
    [0, 10, null, NaN, Infinity, -Infinity].map((value) => placeOf(axis, value)),
    [0, 1, null, null, null, null],
  );
  assert.equal(axis.lacks, true);
  assert.equal(axisOf([0, 1]).lacks, false);
});

test("texts, truths and what is mixed have a place each, in the middle of an equal part", () => {
  const truths = axisOf([true, false, true]);
  assert.deepEqual(
    [false, true].map((value) => placeOf(truths, value)),
    [0.25, 0.75],
  );
  const mixed = axisOf(["b", 10, 9, "a", null]);
  assert.deepEqual([...mixed.places.keys()], [9, 10, "a", "b"]);
  assert.equal(placeOf(mixed, "c"), null);
  assert.deepEqual(
    ticksOf(axisOf(["b", ""])).map(({ text }) => text),
    ["empty", "b"],
  );
});

test("numbers whose difference is infinite have places all the same", () => {
  const axis = axisOf([-1.7e308, 1.7e308, 0]);
  near(placeOf(axis, 0), 0.5);
  assert.equal(ticksOf(axis).length, 3);
  const many = axisOf([-1.7e308, 1.7e308, 0, 1, 2, 3, 4, 5, 6]);
  assert.deepEqual(
    ticksOf(many).map(({ place }) => place),
    [0, 1],
  );
});

test("a place is read back as a number of few digits, also far from zero", () => {
  assert.equal(numberAt(axisOf([0, 1]), 0.33333), 0.333);
  assert.equal(numberAt(axisOf([1e-4, 1e-2]), 0.5), 0.001);
  const narrow = axisOf([1e6, 1e6 + 1]);
  assert.equal(numberAt(narrow, 0.25), 1000000.25);
});

test("ticks are round, and many values are named in part", () => {
  const words = (values, log) =>
    ticksOf(axisOf(values, log))
      .map(({ text }) => text)
      .filter(Boolean);
  const between = Array.from({ length: 9 }, (_, i) => 0.001 * 1.5 ** i);
  assert.deepEqual(words([0, 0.5, ...between]), ["0", "0.1", "0.2", "0.3", "0.4", "0.5"]);
  assert.deepEqual(words([1e-4, 1e-1, ...between]), ["1e-4", "0.001", "0.01", "0.1"]);
  assert.ok(words(Array.from({ length: 500 }, (_, i) => `v${i}`)).length <= 12);
  assert.deepEqual(words([null, null]), []);
  for (const { place } of ticksOf(axisOf([3, 977, ...between])))
    assert.ok(place >= 0 && place <= 1);
});

test("words that would lie over others are left out, and powers of ten stay", () => {
  const rates = Array.from({ length: 24 }, (_, i) => 1.7e-4 * 1.3 ** i);
  const ticks = ticksOf(axisOf(rates)).filter(({ text }) => text);
  const words = (width) => fitting(ticks, width).map(({ text }) => text);
  assert.deepEqual(words(2000), [
    "2e-4",
    "5e-4",
    "0.001",
    "0.002",
    "0.005",
    "0.01",
    "0.02",
    "0.05",
  ]);
  assert.deepEqual(words(270), ["2e-4", "0.001", "0.01", "0.02", "0.05"]);
  assert.deepEqual(words(90), ["0.001", "0.01"]);
});

test("few numbers are named as they are, unless they are too close to one another", () => {
  const words = (values) => ticksOf(axisOf(values)).map(({ text }) => text);
  assert.deepEqual(words([16, 256, 32, 64, 16]), ["16", "32", "64", "256"]);
  assert.deepEqual(words([0, 1, 1000]), ["0", "", "1000"]);
  assert.deepEqual(words([5, 5]), ["5"]);
});

test("a brushed stretch is a range with the rows that lie in it", () => {
  const axis = axisOf([0, 2, 4, 10, null]);
  const filter = filterOf(axis, 0.5, 0.1);
  assert.deepEqual(filter, { low: 1, high: 5 });
  assert.deepEqual(
    [0, 2, 4, 10, null].map((value) => chosen(value, filter)),
    [false, true, true, false, false],
  );
  assert.deepEqual(stretchesOf(axis, filter), [[0.1, 0.5]]);
});

test("a stretch over an end is open there, and one over both ends is none", () => {
  const axis = axisOf([1e-4, 1e-2]);
  assert.deepEqual(filterOf(axis, 0.5, 1.4), { low: 0.001, high: null });
  assert.deepEqual(filterOf(axis, -3, 0.5), { low: null, high: 0.001 });
  assert.equal(filterOf(axis, -0.1, 1), null);
  const [[from, to]] = stretchesOf(axis, { low: 0.001, high: null });
  near(from, 0.5);
  assert.equal(to, 1);
  assert.deepEqual(stretchesOf(axis, { low: -5, high: 7 }), [[0, 1]], "as fields may have it");
  assert.deepEqual(stretchesOf(axis, { low: 1, high: 0 }), []);
});

test("of values, those are chosen whose part the stretch touches", () => {
  const axis = axisOf(["a", "b", "c", "d", null]);
  const filter = filterOf(axis, 0.3, 0.6);
  assert.deepEqual(
    ["a", "b", "c", "d", null].filter((value) => chosen(value, filter)),
    ["b", "c"],
  );
  assert.deepEqual(stretchesOf(axis, filter), [[0.25, 0.75]]);
  assert.deepEqual(stretchesOf(axis, { without: new Set(["b"]) }), [
    [0, 0.25],
    [0.5, 1],
  ]);
  assert.equal(filterOf(axisOf(["a", "b"]), 0.1, 0.9), null, "nothing is left out");
});

test("a colour lies between the two nearest, and the ends are those that are given", () => {
  const stops = ["#000000", "#ff0000", "#ffffff"];
  assert.deepEqual(
    [0, 1, -5, 7].map((place) => colourAt(stops, place)),
    ["#000000", "#ffffff", "#000000", "#ffffff"],
  );
  assert.match(colourAt(stops, 0.25), /^#[78].0000$/);
});
