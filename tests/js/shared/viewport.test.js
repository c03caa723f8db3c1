import assert from "node:assert/strict";
import { test } from "node:test";

import { Viewport } from "../../../nbtrain/panel/js/shared/viewport.js";

// The browser's observer, which tells what it is told to tell.
globalThis.IntersectionObserver = class {
  watched = new Set();
  observed = []; // in their order

  constructor(tell) {
    Object.assign(this, { tell });
  }

  observe(node) {
    this.watched.add(node);
    this.observed.push(node);
  }

  unobserve(node) {
    this.watched.delete(node);
  }

  disconnect() {
    this.watched.clear();
  }
};

function inSight(count) {
  const hidden = [];
  const viewport = new Viewport({ shown: () => {}, hidden: (card) => hidden.push(card) });
  const cards = Array.from({ length: count }, () => ({ root: {} }));
  cards.forEach((card) => viewport.watch(card));
  viewport.observer.tell(cards.map(({ root }) => ({ target: root, isIntersecting: true })));
  return { viewport, cards, hidden };
}

test("of a page that is closed no card is in sight: what arrives later is not drawn", () => {
  const { viewport, cards, hidden } = inSight(2);
  viewport.close();
  assert.deepEqual(hidden, cards);
  assert.equal(viewport.visible.size, 0);
});

test("a card that leaves is hidden and watched no more", () => {
  const { viewport, cards, hidden } = inSight(2);
  viewport.leave(cards[0]);
  assert.deepEqual(hidden, [cards[0]]);
  assert.deepEqual([...viewport.observer.watched], [cards[1].root]);
});

test("a card that has left the page is hidden, and observed again in case it is back soon", () => {
  const { viewport, cards, hidden } = inSight(2);
  cards[0].root.isConnected = true;
  viewport.recheck();
  assert.deepEqual(hidden, [cards[1]]);
  assert.deepEqual(viewport.observer.observed.slice(2), [cards[1].root]);
  assert.ok(viewport.observer.watched.has(cards[1].root));
});
