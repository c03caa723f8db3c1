import assert from "node:assert/strict";
import { test } from "node:test";
import { Contact } from "../../../nbtrain/panel/js/panel/contact.js";

// A clock of the test's own, and the panel's polls every four seconds.
function begin() {
  const clock = { now: new Date(2026, 0, 31, 12, 4, 33) };
  const contact = new Contact(() => clock.now);
  const pass = (seconds) => (clock.now = new Date(clock.now.getTime() + 1000 * seconds));
  const poll = (times) => {
    for (let n = 0; n < times; n++) {
      pass(4);
      contact.poll();
    }
  };
  return { contact, poll, pass };
}

test("a kernel that speaks at least every ten seconds is never silent", () => {
  const { contact, poll } = begin();
  for (let n = 0; n < 100; n++) {
    poll(3);
    assert.equal(contact.silentSince, null);
    contact.heard();
  }
});

test("after sixteen seconds of looking it is silent since its last word", () => {
  const { contact, poll } = begin();
  poll(3);
  assert.equal(contact.silentSince, null);
  poll(1);
  assert.equal(contact.silentSince, "12:04:33");
  poll(100);
  assert.equal(contact.silentSince, "12:04:33");
});

test("a word ends the silence, and the next is told from that word on", () => {
  const { contact, poll } = begin();
  poll(15);
  contact.heard();
  assert.equal(contact.silentSince, null);
  poll(4);
  assert.equal(contact.silentSince, "12:05:33");
});

test("a page that slept has not waited", () => {
  const { contact, poll, pass } = begin();
  pass(3600);
  poll(3);
  assert.equal(contact.silentSince, null);
});

test("a broken way to the kernel is silence at once, until it speaks", () => {
  const { contact, poll } = begin();
  poll(1);
  assert.equal(contact.gone, false);
  contact.disconnected();
  assert.equal(contact.silentSince, "12:04:33");
  assert.equal(contact.gone, true, "and not only busy");
  contact.heard();
  assert.equal(contact.silentSince, null);
  assert.equal(contact.gone, false);
});
