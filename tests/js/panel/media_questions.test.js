// The questions of a page about pictures and media.

import assert from "node:assert/strict";
import test from "node:test";
import { MediaQuestions } from "../../../nbtrain/panel/js/panel/media_questions.js";

const TAGS = /** @type {const} */ ({ about: "tags" });

/** @param {number} [patience] */
function asking(patience) {
  /** @type {any[]} */
  const sent = [];
  const questions = new MediaQuestions((message) => sent.push(message), patience);
  return { sent, questions };
}

const turn = () => new Promise((done) => setImmediate(done));

test("a question waits for the answer to the one before", async () => {
  const { sent, questions } = asking();
  const [first, second] = [questions.ask(TAGS), questions.ask(TAGS)];
  await turn();
  assert.deepEqual(sent, [{ t: "media", id: 1, about: "tags" }]);
  questions.receive({ id: 1, about: "same" }, []);
  assert.equal((await first)?.content.about, "same");
  await turn();
  assert.equal(sent.length, 2);
  questions.receive({ id: 2, about: "refused", text: "no" }, []);
  assert.equal((await second)?.content.about, "refused");
});

test("an answer that does not come is given up, and the next question is asked", async () => {
  const { sent, questions } = asking(1);
  const [first, second] = [questions.ask(TAGS), questions.ask(TAGS)];
  assert.equal(await first, null);
  assert.equal(await second, null);
  assert.equal(sent.length, 2);
});

test("an answer to another page's question is for nobody", async () => {
  const { questions } = asking();
  const first = questions.ask(TAGS);
  await turn();
  questions.receive({ id: 7, about: "same" }, []);
  questions.receive({ id: 1, about: "same" }, []);
  assert.equal((await first)?.content.about, "same");
});
