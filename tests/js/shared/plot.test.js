import assert from "node:assert/strict";
import { test } from "node:test";
import { moveByKey, xScale, yScale } from "../../../nbtrain/panel/js/shared/plot.js";

test("an axis of the largest numbers has two ends all the same", () => {
  for (const log of [false, true]) {
    const [min, max] = yScale(log).range(null, log ? 1 : -1.7e308, 1.7e308);
    assert.ok(Number.isFinite(max - min), `${min} to ${max}`);
    assert.ok(min < max);
  }
});

// A plot of points at these places in pixels, 400 pixels wide, whose cursor keeps to where it was set.
const plot = (places, left = -10) => ({
  over: { clientWidth: 400, clientHeight: 100 },
  data: [places],
  cursor: { left },
  valToPos: (place) => place,
  setCursor(cursor) {
    this.cursor = cursor;
  },
});
const moved = (u, key, more = {}) => moveByKey(u, { key, ...more }) && u.cursor.left;

test("a single step is in the middle of its chart, and a single value too", () => {
  const steps = xScale(false).range;
  assert.deepEqual(steps({ data: [[1144]] }, 0, 2288), [1143, 1145]);
  assert.deepEqual(steps({ data: [[1, 9]] }, 2, 5), [2, 5]);
  assert.deepEqual(steps({ data: [[]] }, null, null), [0, 1]);
  const log = xScale(true).range;
  assert.deepEqual(log({ data: [[8]] }, 0, 16), [4, 16]);
  assert.deepEqual(log({ data: [[1, 9]] }, 1, 9), [1, 9]);
  assert.deepEqual(log({ data: [[]] }, null, null), [1, 10]);
  for (const value of [1, -3, 0, 0.002, 250]) {
    const [low, high] = yScale(false).range(null, value, value);
    assert.ok(low < value && value < high, `${value}`);
    assert.ok(high - low < (Math.abs(value) || 10), `${value} lies in ${low} to ${high}`);
  }
});

test("a key moves the cursor of a chart: by a part of its width, or to its first or last point in sight", () => {
  const [points, zoomed] = [
    [30, 100, 370],
    [-500, 100, 900],
  ];
  assert.deepEqual(
    ["ArrowLeft", "ArrowRight", "Home", "End"].map((key) => moved(plot(points, 200), key)),
    [196, 204, 30, 370],
  );
  assert.deepEqual(
    ["ArrowLeft", "ArrowRight", "Home"].map((key) =>
      moved(plot(points, 200), key, { shiftKey: true }),
    ),
    [160, 240, 30],
  );
  assert.deepEqual(
    ["Home", "End"].map((key) => moved(plot(zoomed, 200), key)),
    [0, 400],
  );
  assert.deepEqual(
    [moved(plot(points), "End"), moved(plot(points), "ArrowRight"), moved(plot([]), "End")],
    [370, 204, 200],
  );
});

test("what a key means beside Ctrl, Alt or Meta is left to the page", () => {
  for (const key of ["Home", "End", "ArrowLeft"]) {
    for (const held of ["ctrlKey", "altKey", "metaKey"]) {
      const u = plot([30, 370], 200);
      assert.equal(moved(u, key, { [held]: true }), false);
      assert.equal(u.cursor.left, 200);
    }
  }
  for (const key of ["a", "PageDown", "ArrowUp"])
    assert.equal(moved(plot([30, 370], 200), key), false);
});
