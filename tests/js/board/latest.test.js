import assert from "node:assert/strict";
import { test } from "node:test";
import { isEarly, Latest } from "../../../nbtrain/panel/js/board/latest.js";

// A connection whose kernel answers when it is told to.
class Connection {
  asked = [];
  whole = Infinity;

  ask(message) {
    return new Promise((answer) =>
      this.asked.push({ message, answer: (content) => answer({ content, buffers: [] }) }),
    );
  }
}

// A clock that stands still until it is set.
class Clock {
  time = 0;
  waiting = [];
  now = () => this.time;
  later = (act, ms) => this.waiting.push({ act, at: this.time + ms });

  set(time) {
    this.time = time;
    const due = this.waiting.filter(({ at }) => at <= time);
    this.waiting = this.waiting.filter(({ at }) => at > time);
    for (const { act } of due) act();
  }
}

const settled = () => new Promise((done) => setImmediate(done));

test("what is here is not asked for again, what is new is", async () => {
  const connection = new Connection();
  const taken = [];
  const latest = new Latest(connection, ({ content }) => taken.push(content.n), new Clock());
  latest.want({ t: "hparams" }, 1);
  connection.asked[0].answer({ t: "hparams", known: "x", n: 1 });
  await settled();
  latest.want({ t: "hparams" }, 1);
  latest.want({ t: "hparams" }, 2);
  assert.deepEqual(
    connection.asked.map(({ message }) => message),
    [
      { t: "hparams", known: null },
      { t: "hparams", known: "x" },
    ],
  );
  connection.asked[1].answer({ t: "same" });
  await settled();
  assert.deepEqual(taken, [1]);
});

test("what was wanted meanwhile is asked for once the answer is there", async () => {
  const connection = new Connection();
  const latest = new Latest(connection, () => {}, new Clock());
  for (const runs of [["a"], ["b"], ["c"]]) latest.want({ t: "compare", runs }, 1);
  assert.equal(connection.asked.length, 1);
  connection.asked[0].answer({ t: "compare" });
  await settled();
  assert.deepEqual(
    connection.asked.map(({ message }) => message.runs),
    [["a"], ["c"]],
  );
});

test("an answer that was lost is asked for again", async () => {
  const connection = new Connection();
  const latest = new Latest(connection, () => assert.fail("nothing came"), new Clock());
  latest.want({ t: "hparams" }, 1);
  connection.asked[0].answer({ t: "lost" });
  await settled();
  latest.want({ t: "hparams" }, 1);
  assert.equal(connection.asked.length, 2);
});

test("what takes the kernel long is asked for again after a rest, another question at once", async () => {
  const connection = new Connection();
  const clock = new Clock();
  const latest = new Latest(connection, () => {}, clock);
  latest.want({ t: "hparams" }, 1);
  clock.set(100);
  connection.asked[0].answer({ t: "hparams" });
  await settled();
  latest.want({ t: "hparams" }, 2);
  latest.want({ t: "hparams" }, 3);
  clock.set(499);
  assert.equal(connection.asked.length, 1);
  clock.set(500);
  assert.equal(connection.asked.length, 2);
  connection.asked[1].answer({ t: "hparams" });
  await settled();
  latest.want({ t: "compare" }, 3);
  assert.equal(connection.asked.length, 3);
});

test("what came of a part of the files is asked for at once when they are read to their end", async () => {
  const connection = new Connection();
  const clock = new Clock();
  const latest = new Latest(connection, () => {}, clock);
  latest.want({ t: "hparams" }, 1);
  clock.set(100);
  connection.asked[0].answer({ t: "hparams" });
  await settled();
  latest.want({ t: "hparams" }, 2);
  assert.equal(connection.asked.length, 1);
  connection.whole = 3;
  latest.want({ t: "hparams" }, 3);
  assert.equal(connection.asked.length, 2);
  connection.asked[1].answer({ t: "hparams" });
  await settled();
  clock.set(150);
  latest.want({ t: "hparams" }, 4);
  assert.equal(connection.asked.length, 3);
  clock.set(250);
  connection.asked[2].answer({ t: "hparams" });
  await settled();
  latest.want({ t: "hparams" }, 5);
  assert.equal(connection.asked.length, 3, "what is written later comes after a rest");
});

test("what is known answers the same question only", async () => {
  const connection = new Connection();
  const taken = [];
  const latest = new Latest(
    connection,
    ({ question }) => taken.push(JSON.parse(question).x),
    new Clock(),
  );
  latest.want({ t: "want", x: "step" }, 1);
  connection.asked[0].answer({ t: "curves", known: "3 points" });
  await settled();
  latest.want({ t: "want", x: "wall" }, 1);
  assert.equal(connection.asked[1].message.known, null);
  connection.asked[1].answer({ t: "curves", known: "3 points" });
  await settled();
  assert.deepEqual(taken, ["step", "wall"]);
});

test("curves of many runs wait for the end of the reading, though not for long", () => {
  const many = Array.from({ length: 3000 }, (_, i) => `run${i}`);
  assert.equal(isEarly({ reading: true, runs: many }, 100), true);
  assert.equal(isEarly({ reading: false, runs: many }, 100), false);
  assert.equal(isEarly({ reading: true, runs: many }, 2000), false);
  assert.equal(isEarly({ reading: true, runs: ["a", "b"] }, 100), false);
});
