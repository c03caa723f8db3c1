import assert from "node:assert/strict";
import { test } from "node:test";
import {
  csv,
  decoded,
  difference,
  isNumeric,
  shown,
  sorted,
  whole,
} from "../../../nbtrain/panel/js/board/table/cells.js";

const same = (value) => value;

test("numbers are sorted as numbers, not as their digits", () => {
  assert.deepEqual(sorted([10, 9, 1e-5, 0.5, -3], same), [-3, 1e-5, 0.5, 9, 10]);
  assert.deepEqual(sorted([10, 9, 100], same, true), [100, 10, 9]);
});

test("what is missing is last in both directions, NaN just before it", () => {
  assert.deepEqual(sorted([null, 2, NaN, 1], same), [1, 2, NaN, null]);
  assert.deepEqual(sorted([null, 2, NaN, 1], same, true), [2, 1, NaN, null]);
});

test("infinities have their place among the numbers", () => {
  assert.deepEqual(sorted([1, Infinity, -Infinity], same), [-Infinity, 1, Infinity]);
});

test("texts come after numbers, and the numbers in them count as such", () => {
  assert.deepEqual(sorted(["run10", 3, "run9", true], same), [3, "run9", "run10", true]);
  const rates = ["lr=0.01", "lr=3e-4", "lr=0.001/b", "lr=0.001"];
  assert.deepEqual(sorted(rates, same), ["lr=3e-4", "lr=0.001", "lr=0.001/b", "lr=0.01"]);
});

test("equal rows stay in their order, whatever the direction", () => {
  const rows = [
    ["b", 1],
    ["a", 1],
    ["c", 0],
  ];
  const names = (down) => sorted(rows, ([, n]) => n, down).map(([name]) => name);
  assert.deepEqual(names(false), ["c", "b", "a"]);
  assert.deepEqual(names(true), ["b", "a", "c"]);
});

test("a column is numeric if its values are, those that are missing aside", () => {
  assert.deepEqual([[1, null, NaN], [1, "1"], [null], [true]].map(isNumeric), [
    true,
    false,
    false,
    false,
  ]);
});

test("a value comes as JSON, what is no number there by its name", () => {
  assert.deepEqual([1.5, "NaN", false, null].map(decoded), [1.5, "NaN", false, null]);
  assert.deepEqual([{ float: "NaN" }, { float: "-Infinity" }].map(decoded), [NaN, -Infinity]);
});

test("a value is shown in six digits, and told whole", () => {
  const value = 0.10000000149011612;
  assert.deepEqual([shown(value), whole(value)], ["0.1", "0.10000000149011612"]);
  assert.deepEqual([1e-7, 123456789, true, "", null, NaN, -Infinity].map(shown), [
    "1e-7",
    "123456789",
    "true",
    "",
    "–",
    "NaN",
    "−∞",
  ]);
});

test("csv quotes what must be quoted", () => {
  assert.equal(
    csv([["a,b", 'say "x"', "two\nlines", 0.1, null, true]]),
    '"a,b","say ""x""","two\nlines",0.1,,true\r\n',
  );
});

test("a text of a file is no formula in a spreadsheet, a negative number stays one", () => {
  assert.equal(csv([["=1+1", "@x", -2, "-2"]]), "'=1+1,'@x,-2,'-2\r\n");
});

test("a difference is told with its sign, and as a part of the baseline", () => {
  assert.equal(difference(0.55, 0.5), "+0.05, +10 %");
  assert.equal(difference(0.25, 0.5), "-0.25, -50 %");
  assert.equal(difference(2, 2), "±0");
});

test("over a negative baseline more is still more", () => {
  assert.equal(difference(-1, -2), "+1, +50 %");
});

test("over zero there is no part", () => {
  assert.equal(difference(0.5, 0), "+0.5");
});

test("what is no number has no difference", () => {
  assert.deepEqual(
    [
      [NaN, 1],
      [1, Infinity],
      [null, 1],
      [1, undefined],
    ].map(([value, base]) => difference(value, base)),
    ["", "", "", ""],
  );
});
