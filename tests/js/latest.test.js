import assert from "node:assert/strict";
import { test } from "node:test";
import { Latest } from "../../nbtrain/panel/js/latest.js";

// A room whose kernel answers when it is told to.
class Room {
  asked = [];

  ask(message) {
    return new Promise((answer) => this.asked.push({ message, answer: (content) => answer({ content, buffers: [] }) }));
  }
}

const settled = () => new Promise((done) => setImmediate(done));

test("what is here is not asked for again, what is new is", async () => {
  const room = new Room();
  const taken = [];
  const latest = new Latest(room, ({ content }) => taken.push(content.n));
  latest.want({ t: "hparams" }, 1);
  room.asked[0].answer({ t: "hparams", known: "x", n: 1 });
  await settled();
  latest.want({ t: "hparams" }, 1);
  latest.want({ t: "hparams" }, 2);
  assert.deepEqual(room.asked.map(({ message }) => message), [{ t: "hparams", known: null }, { t: "hparams", known: "x" }]);
  room.asked[1].answer({ t: "same" });
  await settled();
  assert.deepEqual(taken, [1]);
});

test("what was wanted meanwhile is asked for once the answer is there", async () => {
  const room = new Room();
  const latest = new Latest(room, () => {});
  for (const runs of [["a"], ["b"], ["c"]]) latest.want({ t: "compare", runs }, 1);
  assert.equal(room.asked.length, 1);
  room.asked[0].answer({ t: "compare" });
  await settled();
  assert.deepEqual(room.asked.map(({ message }) => message.runs), [["a"], ["c"]]);
});

test("an answer that was lost is asked for again", async () => {
  const room = new Room();
  const latest = new Latest(room, () => assert.fail("nothing came"));
  latest.want({ t: "hparams" }, 1);
  room.asked[0].answer({ t: "lost" });
  await settled();
  latest.want({ t: "hparams" }, 1);
  assert.equal(room.asked.length, 2);
});
