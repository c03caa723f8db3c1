import assert from "node:assert/strict";
import { test } from "node:test";

import { fitted, laidOut, pathOf, textOf } from "../../../nbtrain/panel/js/board/graph/layout.js";

const item = (number, more = {}) => ({
  number,
  parent: 0,
  label: `n${number}`,
  kind: "node",
  op: "",
  count: 1,
  open: false,
  ...more,
});
const edge = (source, target, more = {}) => ({
  source,
  target,
  count: 1,
  control: 0,
  shape: "",
  ...more,
});
const inside = (box, outer) =>
  Math.abs(box.x - outer.x) <= (outer.width - box.width) / 2 + 0.01 &&
  Math.abs(box.y - outer.y) <= (outer.height - box.height) / 2 + 0.01;

test("edges lead downwards", () => {
  const { boxes, edges, width, height } = laidOut({
    items: [item(1), item(2), item(3)],
    edges: [edge(1, 2), edge(2, 3), edge(1, 3, { count: 4 })],
  });
  assert.ok(boxes.get(1).y < boxes.get(2).y);
  assert.ok(boxes.get(2).y < boxes.get(3).y);
  for (const box of boxes.values()) assert.ok(box.x >= 0 && box.x <= width && box.y <= height);
  assert.ok(edges.every(({ points }) => points.length > 1));
  assert.equal(edges[2].text, "× 4");
});

test("an edge of a node to itself is left out, and the others keep their ends", () => {
  const { boxes, edges } = laidOut({
    items: [item(1), item(2)],
    edges: [edge(1, 1), edge(1, 2), edge(2, 2)],
  });
  assert.equal(boxes.size, 2);
  assert.deepEqual(
    edges.map(({ source, target }) => [source, target]),
    [[1, 2]],
  );
});

test("an open scope is around what is in it, with room for its name", () => {
  const scope = { kind: "scope", open: true, count: 2 };
  const { boxes } = laidOut({
    items: [
      item(1),
      item(2, scope),
      item(3, { parent: 2 }),
      item(4, { ...scope, parent: 2 }),
      item(5, { parent: 4 }),
    ],
    edges: [edge(1, 3), edge(3, 5)],
  });
  for (const [inner, outer] of [
    [3, 2],
    [4, 2],
    [5, 4],
  ]) {
    assert.ok(inside(boxes.get(inner), boxes.get(outer)), `${inner} is in ${outer}`);
    const top = (number) => boxes.get(number).y - boxes.get(number).height / 2;
    assert.ok(top(inner) - top(outer) >= 18);
  }
});

test("no folded scope or node overlaps another", () => {
  const items = Array.from({ length: 40 }, (_, i) => item(i + 1));
  const edges = items.slice(1).map(({ number }) => edge(Math.ceil(number / 3), number));
  const boxes = [...laidOut({ items, edges }).boxes.values()];
  for (const [i, one] of boxes.entries())
    for (const other of boxes.slice(i + 1))
      assert.ok(
        Math.abs(one.x - other.x) >= (one.width + other.width) / 2 - 0.01 ||
          Math.abs(one.y - other.y) >= (one.height + other.height) / 2 - 0.01,
      );
});

// A generator of its own: the same graphs in each run.
function random(seed) {
  let state = seed;
  return (below) => {
    state = (state * 48271) % 2147483647;
    return state % below;
  };
}

test("cycles, edges to itself and nested scopes of any shape are laid out", () => {
  for (let seed = 1; seed <= 150; seed++) {
    const draw = random(seed);
    const items = [];
    const count = 1 + draw(14);
    for (let number = 1; number <= count; number++) {
      const scopes = items.filter(({ open }) => open);
      const parent = scopes.length && draw(2) ? scopes[draw(scopes.length)].number : 0;
      const open = draw(4) === 0;
      items.push(item(number, { parent, open, kind: open ? "scope" : "node" }));
    }
    const held = new Set(items.map(({ parent }) => parent)); // an open scope holds something
    for (const each of items) each.open = each.open && held.has(each.number);
    const ends = items.filter(({ open }) => !open);
    const pairs = new Map();
    for (let i = draw(30); i > 0; i--) {
      const [source, target] = [ends[draw(ends.length)], ends[draw(ends.length)]];
      const more = { count: 1 + draw(9), shape: draw(2) ? "[?, 3]" : "" };
      pairs.set(`${source.number} ${target.number}`, edge(source.number, target.number, more));
    }
    const { boxes, edges } = laidOut({ items, edges: [...pairs.values()] });
    for (const { x, y, width, height } of boxes.values())
      assert.ok([x, y, width, height].every(Number.isFinite), `seed ${seed}`);
    for (const { points } of edges) {
      assert.ok(points.length > 1, `seed ${seed}`);
      assert.ok(points.every(({ x, y }) => Number.isFinite(x) && Number.isFinite(y)));
    }
  }
});

test("an empty graph has no size that is no number", () => {
  const { boxes, edges } = laidOut({ items: [], edges: [] });
  assert.equal(boxes.size, 0);
  assert.deepEqual(edges, []);
});

test("what is beside an edge is how many it stands for, or its shape", () => {
  assert.equal(textOf(edge(1, 2, { count: 1200, shape: "[3]" })), "× 1,200");
  assert.equal(textOf(edge(1, 2, { shape: "[?, 3]" })), "[?, 3]");
  assert.equal(textOf(edge(1, 2, { count: 0, control: 3 })), "× 3");
  assert.equal(textOf(edge(1, 2, { count: 0, control: 1 })), "");
});

test("a long name keeps its ends", () => {
  assert.equal(fitted("short"), "short");
  const long = fitted(`begin${"x".repeat(100)}end`);
  assert.match(long, /^begin.*…x*end$/);
  assert.equal(long.length, 24);
});

test("a path runs through its points, and ends in the head of an arrow", () => {
  const { line, head } = pathOf([
    { x: 0, y: 0 },
    { x: 0, y: 10 },
    { x: 10, y: 20 },
  ]);
  assert.equal(line, "M0.0,0.0L0.0,5.0Q0.0,10.0 5.0,15.0L10.0,20.0");
  assert.match(head, /^M10\.0,20\.0L.*Z$/);
  assert.deepEqual(pathOf([{ x: 1, y: 1 }]), { line: "", head: "" });
});
