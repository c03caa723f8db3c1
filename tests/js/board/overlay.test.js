import assert from "node:assert/strict";
import { test } from "node:test";
import { decode, overlay, valuesAt } from "../../../nbtrain/panel/js/board/charts/overlay.js";
import { marks } from "../../../nbtrain/panel/js/shared/buckets.js";
import { isolated } from "../../../nbtrain/panel/js/shared/columns.js";

const curve = (run, x, mean, more = {}) => ({
  run,
  stride: 1,
  numbers: {},
  x,
  mean,
  lo: mean,
  hi: mean,
  smooth: mean,
  tails: [],
  ...more,
});
const plain = ({ data }) => data.map((column) => [...column]);
const _ = undefined;

test("runs with different steps share the axis, each with its own", () => {
  const { data, lines } = overlay([curve("a", [1, 3], [5, 6]), curve("b", [2, 3], [7, 8])]);
  assert.deepEqual(
    data.map((column) => [...column]),
    [
      [1, 2, 3],
      [5, _, 6],
      [_, 7, 8],
    ],
  );
  assert.deepEqual(lines, [
    { kind: "line", run: "a" },
    { kind: "line", run: "b" },
  ]);
});

test("with smoothing the raw lines lie behind all the smoothed ones", () => {
  const runs = [curve("a", [1], [5], { smooth: [4] }), curve("b", [1], [7], { smooth: [6] })];
  const { data, lines } = overlay(runs, { smooth: true });
  assert.deepEqual(
    lines.map(({ kind, run }) => kind + run),
    ["rawa", "rawb", "linea", "lineb"],
  );
  assert.deepEqual(
    data.slice(1).map(([y]) => y),
    [5, 7, 4, 6],
  );
});

test("buckets of several points have a band, unless there are many runs or smoothing", () => {
  const run = (name) => curve(name, [1], [5], { stride: 4, lo: [4], hi: [6] });
  assert.deepEqual(
    overlay([run("a")]).lines.map(({ kind }) => kind),
    ["hi", "lo", "line"],
  );
  assert.deepEqual(
    overlay([run("a")], { smooth: true }).lines.map(({ kind }) => kind),
    ["raw", "line"],
  );
  assert.equal(overlay(["a", "b", "c", "d", "e"].map(run)).lines.length, 5);
});

test("an abandoned tail is a column of its own, below everything", () => {
  const tails = [{ x: [2, 3], mean: [9, 9], lo: [9, 9], hi: [9, 9], smooth: [9, 9] }];
  const { data, lines } = overlay([curve("a", [1, 2], [5, 6], { tails })]);
  assert.deepEqual(lines[0], { kind: "tail", run: "a" });
  assert.deepEqual([...data[1]], [_, 9, 9]);
});

test("NaN, infinities, and on a logarithmic scale what is not positive, are gaps and are marked", () => {
  const runs = [curve("a", [1, 2, 3, 4], [1, NaN, Infinity, 0])];
  assert.deepEqual(plain(overlay(runs))[1], [1, null, null, 0]);
  assert.deepEqual(plain(overlay(runs, { log: true }))[1], [1, null, null, null]);
  assert.deepEqual(
    marks(runs).map(({ x, kind }) => [x, kind]),
    [
      [2, "NaN"],
      [3, "∞"],
    ],
  );
  assert.deepEqual(
    marks(runs, { log: true }).map(({ kind }) => kind),
    ["NaN", "∞", "≤ 0"],
  );
});

test("marks of all runs are in the order of their places", () => {
  const found = marks([curve("a", [5], [NaN]), curve("b", [2], [NaN])]);
  assert.deepEqual(
    found.map(({ x }) => x),
    [2, 5],
  );
});

test("a value between gaps is isolated, whatever other runs have beside it", () => {
  assert.deepEqual(isolated([1, null, 2, _, 3, null, _, 4]), [0, 7]);
  assert.deepEqual(isolated([_, 1, _]), [1]);
  assert.deepEqual(isolated([1, 2]), []);
  assert.deepEqual(isolated([]), []);
});

test("at a place every run tells its nearest value, the highest first and NaN last", () => {
  const runs = [
    curve("low", [1, 10], [1, 2]),
    curve("nan", [9], [NaN]),
    curve("high", [8], [3]),
    curve("none", [], []),
  ];
  assert.deepEqual(
    valuesAt(runs, 9).map(({ run, x, value }) => [run, x, value]),
    [
      ["high", 8, 3],
      ["low", 10, 2],
      ["nan", 9, NaN],
    ],
  );
});

test("a message is read run by run, wherever its bytes begin", () => {
  const rows = [
    0.5, 9, 0.5, 9, 2, 1, 3, /* x mean lo hi smooth */ 1, 2, 1, 3, 4, 5, 6, 5, 7, 6,
    /* of the second */ 1, 2, 0, 1, /* tail */ 7, 8, 8, 8, 8, /* b */ 1, 1, 1, 1, 1, 1, 0,
  ];
  const bytes = new Uint8Array(new Float64Array([0, ...rows]).buffer);
  const shifted = new Uint8Array(bytes.length + 1);
  shifted.set(bytes, 1);
  const found = decode(
    [
      { run: "a", n: 2, stride: 4, unseen: 1, tails: [1] },
      { run: "b", n: 0, stride: 1, unseen: 0, tails: [] },
    ],
    new DataView(shifted.buffer, 9),
  );
  assert.deepEqual(found[0].numbers, {
    last: 0.5,
    min: 0.5,
    minStep: 9,
    max: 2,
    maxStep: 1,
    points: 3,
  });
  assert.deepEqual(
    [found[0].x, found[0].mean, found[0].lo, found[0].hi, found[0].smooth],
    [
      [1, 5],
      [2, 6],
      [1, 5],
      [3, 7],
      [4, 6],
    ],
  );
  assert.deepEqual(found[0].unseen, [null, [2, 0, 1]]);
  assert.deepEqual([found[0].tails[0].x, found[0].tails[0].mean], [[7], [8]]);
  assert.deepEqual([found[1].run, found[1].x, found[1].numbers.points], ["b", [], 0]);
});
