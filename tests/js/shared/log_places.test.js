import assert from "node:assert/strict";
import { test } from "node:test";
import { isNamed, logPlaces } from "../../../nbtrain/panel/js/shared/log_places.js";

const named = (places) => places.filter((_, i) => isNamed(places, i));

test("every decade has its nine lines, and its first is named", () => {
  const places = logPlaces(1, 10_000);
  assert.equal(places.length, 37);
  assert.deepEqual(named(places), [1, 10, 100, 1000, 10_000]);
});

test("with few decades 2 and 5 are named as well", () => {
  assert.deepEqual(named(logPlaces(1, 60)), [1, 2, 5, 10, 20, 50]);
});

test("what is below or beyond the ends has no line", () => {
  assert.deepEqual(logPlaces(7.5, 90).slice(0, 3), [8, 9, 10]);
  assert.deepEqual(
    logPlaces(0.03, 0.5),
    [0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.1, 0.2, 0.3, 0.4, 0.5],
  );
});

test("a range shorter than a decade has round numbers, evenly, and all are named", () => {
  const places = logPlaces(133.7, 311.2);
  assert.deepEqual(places, [150, 200, 250, 300]);
  assert.deepEqual(named(places), places);
  assert.deepEqual(logPlaces(1.0001, 1.0005), [1.0001, 1.0002, 1.0003, 1.0004, 1.0005]);
});

test("of many decades each second, or third, or tenth is there, by whole powers of ten, and named", () => {
  assert.deepEqual(logPlaces(1e-3, 1e3, 6).length, 55);
  assert.deepEqual(logPlaces(1e-3, 1e4, 5), [0.01, 1, 100, 10_000]);
  const places = logPlaces(1e-40, 1e38, 5);
  assert.deepEqual(places, [1e-32, 1e-16, 1, 1e16, 1e32]);
  assert.deepEqual(named(places), places);
  assert.equal(logPlaces(1e-300, 1e300, 4).length, 5, "their quotient is none");
});
