import assert from "node:assert/strict";
import { test } from "node:test";
import { runsOf } from "../../../nbtrain/panel/js/board/table/sessions.js";

const found = (sessions, runs) => Object.fromEntries(runsOf(sessions, runs));

test("a session has the runs in its folder, and itself", () => {
  assert.deepEqual(found(["a", "b"], ["a", "a/train", "a/val/x", "ab", "b"]), {
    a: ["a", "a/train", "a/val/x"],
    b: ["b"],
  });
});

test("a run belongs to the deepest session that holds it", () => {
  assert.deepEqual(found(["a", "a/b"], ["a/b/train", "a/train"]), {
    a: ["a/train"],
    "a/b": ["a/b/train"],
  });
});

test("the session of the logdir itself has what no other has", () => {
  assert.deepEqual(found([".", "a"], [".", "train", "a/train"]), {
    ".": [".", "train"],
    a: ["a/train"],
  });
});

test("a session without runs is there all the same", () => {
  assert.deepEqual(found(["a"], ["b"]), { a: [] });
});
