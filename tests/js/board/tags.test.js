import assert from "node:assert/strict";
import { test } from "node:test";
import {
  runsWithoutScalars,
  dashOf,
  filter,
  groups,
  numbersBy,
  runsByTag,
  style,
} from "../../../nbtrain/panel/js/board/tags.js";
import { duration, place, timeTicks } from "../../../nbtrain/panel/js/shared/format.js";

test("tags are grouped by what stands before their first slash", () => {
  assert.deepEqual(groups(["a/x", "b/y/z", "loss", "a/w", "/odd"]), [
    { name: "", tags: ["loss", "/odd"] },
    { name: "a", tags: ["a/x", "a/w"] },
    { name: "b", tags: ["b/y/z"] },
  ]);
  assert.deepEqual(groups([]), []);
});

test("a filter is a regular expression, found anywhere, in any case", () => {
  const { matches, error } = filter("LOSS$|^acc");
  assert.deepEqual(["train/loss", "accuracy", "loss/train"].map(matches), [true, true, false]);
  assert.equal(error, null);
});

test("what is no regular expression hides nothing, and is told", () => {
  const { matches, error } = filter("(");
  assert.ok(matches("anything"));
  assert.match(error, /\(/);
});

test("runs in whose names the same is found have one number, those without a match none", () => {
  const fits = ["units=16,seed=1", "units=16,seed=2", "units=32,seed=1", "sweep"].map((name) => ({
    lead: `runs/${name}`,
    name,
  }));
  const numbers = (text) => fits.map(({ lead }) => numbersBy(text, fits).get(lead));
  assert.deepEqual(numbers("units=(\\d+)"), [0, 0, 1, undefined]);
  assert.deepEqual(numbers("SEED=\\d"), [0, 1, 0, undefined]);
  assert.deepEqual(numbers("units=(\\d+)|(sweep)"), [0, 0, 1, 2]);
  assert.deepEqual(numbers("s"), [0, 0, 0, 0]);
  assert.deepEqual(numbers("("), [undefined, undefined, undefined, undefined]);
});

test("of sixty runs no two lines look the same", () => {
  const colours = Array.from({ length: 12 }, (_, n) => `colour ${n}`);
  const looks = Array.from({ length: 60 }, (_, n) => JSON.stringify(style(n, colours)));
  assert.equal(new Set(looks).size, 60);
});

test("of tags that share the colours of runs, the first five have a dash each", () => {
  const dashes = Array.from({ length: 5 }, (_, n) => dashOf(n).join());
  assert.equal(new Set(dashes).size, 5);
  assert.equal(dashes[0], "");
});

test("dashes come only after each colour was used once", () => {
  const looks = [0, 1, 2, 3, 4].map((n) => style(n, ["a", "b"]));
  assert.deepEqual(
    looks.map(({ colour }) => colour),
    ["a", "b", "a", "b", "a"],
  );
  const dashes = looks.map(({ dash }) => dash.join());
  assert.deepEqual(dashes.slice(0, 2), ["", ""]);
  assert.equal(new Set(dashes).size, 3);
});

test("times are told like a clock", () => {
  assert.deepEqual([5, 65, 3661, 90061, -65].map(duration), [
    "0:05",
    "1:05",
    "1:01:01",
    "1 d 1:01:01",
    "−1:05",
  ]);
  assert.deepEqual(timeTicks([0, 10, 20]), ["0 s", "10 s", "20 s"]);
  assert.deepEqual(timeTicks([0, 60, 120]), ["0:00", "1:00", "2:00"]);
});

test("a place is told in the words of its axis", () => {
  assert.equal(place(1200, "step"), "step 1,200");
  assert.equal(place(130, "relative"), "2:10");
  assert.equal(place(2.5, "relative"), "2.5 s");
  assert.match(place(1.7e9, "wall"), /^2023-11-1\d \d\d:\d\d:20$/);
});

test("each tag knows the runs that have it", () => {
  const found = runsByTag({ tags: ["a", "b", "c"], sets: [[0, 1], [1]], of: [0, 1, 0] }, [
    "adam",
    "sgd",
  ]);
  assert.deepEqual(
    [...found],
    [
      ["a", ["adam", "sgd"]],
      ["b", ["sgd"]],
      ["c", ["adam", "sgd"]],
    ],
  );
});

test("runs without scalars are known, unless no run has any", () => {
  const runs = ["fit", "images", "other"];
  assert.deepEqual([...runsWithoutScalars({ runs, sets: [[0], [0, 2]] })], ["images"]);
  assert.deepEqual([...runsWithoutScalars({ runs, sets: [] })], []);
});
