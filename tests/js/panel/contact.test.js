import assert from "node:assert/strict";
import { test } from "node:test";
import { Contact } from "../../../nbtrain/panel/js/panel/contact.js";

// A clock of the test's own, and the panel's looks every four seconds.
function begin() {
  const clock = { now: new Date(2026, 0, 31, 12, 4, 33) };
  const contact = new Contact(() => clock.now);
  const pass = (seconds) => (clock.now = new Date(clock.now.getTime() + 1000 * seconds));
  const look = (times) => {
    for (let n = 0; n < times; n++) {
      pass(4);
      contact.look();
    }
  };
  return { contact, look, pass };
}

test("a kernel that speaks at least every ten seconds is never silent", () => {
  const { contact, look } = begin();
  for (let n = 0; n < 100; n++) {
    look(3);
    assert.equal(contact.silentSince, null);
    contact.heard();
  }
});

test("after sixteen seconds of looking it is silent since its last word", () => {
  const { contact, look } = begin();
  look(3);
  assert.equal(contact.silentSince, null);
  look(1);
  assert.equal(contact.silentSince, "12:04:33");
  look(100);
  assert.equal(contact.silentSince, "12:04:33");
});

test("a word ends the silence, and the next is told from that word on", () => {
  const { contact, look } = begin();
  look(15);
  contact.heard();
  assert.equal(contact.silentSince, null);
  look(4);
  assert.equal(contact.silentSince, "12:05:33");
});

test("a page that slept has not waited", () => {
  const { contact, look, pass } = begin();
  pass(3600);
  look(3);
  assert.equal(contact.silentSince, null);
});

test("a broken way to the kernel is silence at once, until it speaks", () => {
  const { contact, look } = begin();
  look(1);
  assert.equal(contact.gone, false);
  contact.broke();
  assert.equal(contact.silentSince, "12:04:33");
  assert.equal(contact.gone, true, "and not only busy");
  contact.heard();
  assert.equal(contact.silentSince, null);
  assert.equal(contact.gone, false);
});
