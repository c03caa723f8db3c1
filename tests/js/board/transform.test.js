import assert from "node:assert/strict";
import { test } from "node:test";

import {
  anchored,
  neighbourOf,
  centred,
  moved,
  fitted,
  zoomed,
} from "../../../nbtrain/panel/js/board/graph/transform.js";

const FRAME = { width: 400, height: 300 };
const seen = ({ x, y, scale }, point) => ({ x: x + scale * point.x, y: y + scale * point.y });

test("a small drawing is seen in the middle in its own size", () => {
  assert.deepEqual(fitted({ width: 100, height: 100 }, FRAME), { scale: 1, x: 150, y: 100 });
});

test("a larger one fits, and of one too large to be read the upper part is seen", () => {
  assert.deepEqual(fitted({ width: 800, height: 100 }, FRAME), { scale: 0.5, x: 0, y: 125 });
  const { scale, x, y } = fitted({ width: 8000, height: 9000 }, FRAME);
  assert.ok(scale >= 0.3);
  assert.equal(y, 0);
  assert.equal(x + (scale * 8000) / 2, 200);
});

test("zooming leaves the point under the pointer where it is, and has its ends", () => {
  const before = { scale: 1, x: 10, y: 20 };
  const after = zoomed(before, 2, { x: 110, y: 70 });
  assert.deepEqual(seen(after, { x: 100, y: 50 }), { x: 110, y: 70 });
  assert.equal(zoomed(before, 1e9, { x: 0, y: 0 }).scale, 4);
  assert.equal(zoomed(before, 1e-9, { x: 0, y: 0 }).scale, 0.1);
});

test("what is anchored stays where it was, and what is centred is in the middle", () => {
  const transform = { scale: 0.5, x: 7, y: 9 };
  const [before, after] = [
    { x: 100, y: 40 },
    { x: 300, y: 10 },
  ];
  assert.deepEqual(seen(anchored(transform, before, after), after), seen(transform, before));
  assert.deepEqual(seen(centred(transform, after, FRAME), after), { x: 200, y: 150 });
  assert.deepEqual(moved(transform, { x: 1, y: -1 }), { scale: 0.5, x: 8, y: 8 });
});

test("an arrow key leads to the nearest box on its side", () => {
  const box = (x, y) => ({ x, y, width: 10, height: 10 });
  const boxes = new Map([
    [1, box(0, 0)],
    [2, box(0, 50)],
    [3, box(40, 0)],
    [4, box(100, 10)],
  ]);
  assert.equal(neighbourOf(boxes, 1, "ArrowDown"), 2);
  assert.equal(neighbourOf(boxes, 1, "ArrowRight"), 3);
  assert.equal(neighbourOf(boxes, 3, "ArrowRight"), 4);
  assert.equal(neighbourOf(boxes, 3, "ArrowLeft"), 1);
  assert.equal(neighbourOf(boxes, 1, "ArrowUp"), null);
});
