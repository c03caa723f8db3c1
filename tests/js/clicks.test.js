import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { Clicks } from "../../nbtrain/panel/js/panel/clicks.js";

function clicks(context) {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const sent = [];
  const made = new Clicks((message) => sent.push(message), mock.fn());
  return { made, sent, running: (...receipts) => made.settle({ phase: "running", receipts }) };
}

test("a click is sent once and waits until its receipt has an outcome", (context) => {
  const { made, sent, running } = clicks(context);
  const done = mock.fn();
  made.post({ command: "set", values: { rate: 0.5 } }, done);
  const [{ id, ...message }] = sent;
  assert.deepEqual(message, { t: "cmd", command: "set", values: { rate: 0.5 } });
  running({ id, state: "requested" });
  assert.equal(made.of("set"), made.latest);
  running({ id, state: "refused", text: "no" });
  running({ id, state: "refused", text: "no" });
  assert.deepEqual(
    done.mock.calls.map(({ arguments: [receipt] }) => receipt.text),
    ["no"],
  );
  assert.equal(made.of("set"), undefined);
});

test("a click that the kernel does not take is late", (context) => {
  const { made } = clicks(context);
  made.post({ command: "pause" });
  context.mock.timers.tick(1500);
  assert.equal(made.latest.late, true);
  assert.equal(made.changed.mock.callCount(), 2);
});

test("a click that was taken, and is listed no more, is over", (context) => {
  const { made, sent, running } = clicks(context);
  made.post({ command: "pause" });
  made.acknowledged(sent[0].id);
  running();
  assert.ok(made.latest);
  context.mock.timers.tick(1500);
  running();
  assert.equal(made.latest, undefined);
});

test("the answer to a trial is not waited for as to a click, once it has begun", (context) => {
  const { made, sent } = clicks(context);
  made.post({ command: "save" });
  made.post({ command: "try" });
  assert.equal(made.latest.command, "try");
  made.acknowledged(sent[1].id);
  assert.equal(made.latest.command, "save");
  assert.ok(made.of("try"));
});

test("no click waits when the run has ended", (context) => {
  const { made } = clicks(context);
  const done = mock.fn();
  made.post({ command: "set" }, done);
  made.settle({ phase: "stopped" });
  assert.deepEqual(done.mock.calls[0].arguments, [undefined]);
  assert.equal(made.latest, undefined);
});
