import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { Choices } from "../../../nbtrain/panel/js/panel/choices.js";
import { window } from "../window.js";

const SCALES = { smooth: 0, x: "step", logX: false, logs: [], outliers: [] };
const BEGIN = { height: null, all: false, ...SCALES, pins: [], log: false, media: false };

test("a choice is kept for the next page", () => {
  const kept = {};
  new Choices(() => {}, window(kept)).choose({ height: 500 });
  assert.equal(new Choices(() => {}, window(kept)).values.height, 500);
});

test("all panels of a page have the same choices, and are told once", () => {
  const page = window();
  const [one, other] = [mock.fn(), mock.fn()];
  const first = new Choices(one, page);
  const second = new Choices(other, page);
  first.choose({ all: true });
  assert.equal(second.values.all, true);
  assert.deepEqual([one.mock.callCount(), other.mock.callCount()], [1, 1]);
  second.close();
  first.choose({ all: false });
  assert.deepEqual([one.mock.callCount(), other.mock.callCount()], [2, 1]);
});

test("what is kept by another version is left aside", () => {
  for (const text of ["{", "null", '{"height": "high", "all": 3, "x": "day", "more": 1}', "[]"])
    assert.deepEqual(new Choices(() => {}, window({ "nbtrain.panel": text })).values, BEGIN);
});

test("a page that may keep nothing has choices all the same", () => {
  const page = window();
  page.localStorage = {
    getItem() {
      throw new Error("SecurityError");
    },
    setItem() {
      throw new Error("SecurityError");
    },
  };
  const told = mock.fn();
  const choices = new Choices(told, page);
  choices.choose({ height: 300 });
  assert.equal(choices.values.height, 300);
  assert.equal(told.mock.callCount(), 1);
});

test("a tag is added to a list and taken away again, and the oldest of too many are forgotten", () => {
  const choices = new Choices(() => {}, window());
  choices.toggle("logs", "loss");
  choices.toggle("logs", "rate");
  choices.toggle("logs", "loss");
  assert.deepEqual(choices.values.logs, ["rate"]);
  for (let i = 0; i < 200; i++) choices.toggle("logs", `tag ${i}`);
  assert.equal(choices.values.logs.length, 200);
  assert.ok(!choices.values.logs.includes("rate"));
});
