import assert from "node:assert/strict";
import { test } from "node:test";
import { brief, exact, places } from "../../../nbtrain/panel/js/panel/scale.js";

const all = ({ last, valueAt }) => Array.from({ length: last + 1 }, (_, place) => valueAt(place));

test("the places of a logarithmic range have two digits, each its own", () => {
  const range = places(1e-5, 0.1, "log");
  const values = all(range);
  assert.equal(values.length, 81);
  assert.deepEqual([values[0], values[20], values[40], values.at(-1)], [1e-5, 1e-4, 1e-3, 0.1]);
  assert.equal(new Set(values).size, values.length);
  assert.ok(values.every((value) => Number(value.toPrecision(2)) === value));
});

test("of a share each hundredth is a place", () => {
  const range = places(0, 0.99, "linear");
  assert.equal(range.last, 99);
  assert.equal(range.valueAt(29), 0.29);
});

test("of whole numbers each place is one", () => {
  const few = places(1, 128, "whole");
  assert.deepEqual([few.last, few.valueAt(0), few.valueAt(31)], [127, 1, 32]);
  assert.ok(all(places(1, 4e6, "whole")).every(Number.isInteger));
});

test("a value is at the place that stands for it", () => {
  for (const range of [
    places(1e-5, 0.1, "log"),
    places(0, 0.99, "linear"),
    places(1, 128, "whole"),
    places(-6, 6, "linear"),
  ]) {
    all(range).forEach((value, place) => assert.equal(range.placeOf(value), place));
  }
});

test("a value beyond the range, or none, is at an end", () => {
  const range = places(1e-5, 0.1, "log");
  assert.deepEqual([0, -1, NaN, 7].map(range.placeOf), [0, 0, 0, 80]);
  assert.deepEqual([-7, 7].map(places(0, 0.99, "linear").placeOf), [0, 99]);
});

test("a number is shown with all its digits", () => {
  assert.deepEqual([0.001, 0.00025, 1e-5, 32, 0, 0.123456789, "NaN"].map(exact), [
    "0.001",
    "0.00025",
    "1e-5",
    "32",
    "0",
    "0.123456789",
    "NaN",
  ]);
  assert.deepEqual([1e15, -5e14, 1e10, 9999999999, Infinity].map(exact), [
    "1e+15",
    "-5e+14",
    "1e+10",
    "9999999999",
    "Infinity",
  ]);
});

test("a number that is too long is rounded to what there is room for, never cut off", () => {
  assert.deepEqual(
    [0.001, 0.015, 1e-5, 123456789, "NaN"].map((value) => brief(value, 9)),
    ["0.001", "0.015", "1e-5", "123456789", "NaN"],
  );
  const long = [
    1.5651673e-5, 0.0029229123, 0.000123456789, 123456.789123, 123456789012, -1.23456e-105,
  ];
  const shown = long.map((value) => brief(value, 9));
  assert.deepEqual(shown, [
    "1.5652e-5",
    "0.0029229",
    "1.2346e-4",
    "123456.79",
    "1.235e+11",
    "-1.2e-105",
  ]);
  assert.ok(shown.every((text) => text.length <= 9));
});
