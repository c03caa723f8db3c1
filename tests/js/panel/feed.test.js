import assert from "node:assert/strict";
import { test } from "node:test";

import { Feed } from "../../../nbtrain/panel/js/panel/feed.js";

function fed() {
  let asked = 0;
  const feed = new Feed(() => (asked += 1));
  const seconds = (count, patience = 2) => {
    asked = 0;
    for (let n = 0; n < count; n += 1) feed.second(patience);
    return asked;
  };
  return { feed, seconds };
}

test("a page that hears news never asks", () => {
  const { feed, seconds } = fed();
  for (let n = 0; n < 20; n += 1) {
    assert.equal(seconds(1), 0);
    feed.heard(false);
  }
  assert.equal(feed.pulls, false);
});

test("a page that hears nothing for two seconds asks once a second, after each answer", () => {
  const { feed, seconds } = fed();
  assert.equal(seconds(1), 0);
  for (let n = 0; n < 5; n += 1) {
    assert.equal(seconds(1), 1);
    feed.heard(true);
  }
  assert.equal(feed.pulls, true);
});

test("a kernel that does not answer is not said to do so", () => {
  const { feed, seconds } = fed();
  seconds(5);
  assert.equal(feed.answers, false);
  feed.heard(true);
  assert.equal(feed.answers, true);
  feed.heard(false);
  assert.equal(feed.answers, false);
});

test("a page that hears the answers to another page does not say that it asks", () => {
  const { feed, seconds } = fed();
  feed.heard(true);
  assert.equal(feed.answers, false);
  assert.equal(seconds(1), 0);
});

test("a question is asked again only when its answer does not come for ten seconds", () => {
  const { seconds } = fed();
  assert.equal(seconds(2), 1);
  assert.equal(seconds(9), 0);
  assert.equal(seconds(1), 1);
});

test("a page asks no more once the kernel's own news arrives", () => {
  const { feed, seconds } = fed();
  seconds(2);
  feed.heard(true);
  feed.heard(false);
  assert.equal(feed.pulls, false);
  assert.equal(seconds(1), 0);
});

test("a page that asks goes on while the kernel may be silent for longer", () => {
  const { feed, seconds } = fed();
  assert.equal(seconds(11, 12), 0);
  assert.equal(seconds(1, 12), 1);
  feed.heard(true);
  assert.equal(seconds(1, 12), 1);
});

test("a page that was hidden, or whose run has ended, begins to wait anew", () => {
  const { feed, seconds } = fed();
  seconds(3);
  feed.rest();
  assert.equal(feed.pulls, false);
  assert.equal(seconds(1), 0);
  assert.equal(seconds(1), 1);
});
