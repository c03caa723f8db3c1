import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { Clicks } from "../../../nbtrain/panel/js/panel/clicks.js";

// problem: what becomes of a command that is sent through the run's folder; see mailbox.js.
function clicks(context, problem = null) {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const sent = [];
  const mailbox = { send: mock.fn(async () => problem), answer: mock.fn(async () => null) };
  const made = new Clicks((message) => sent.push(message), mailbox, mock.fn());
  const running = (...receipts) => made.settle({ phase: "running", receipts });
  const pass = (ms) => {
    context.mock.timers.tick(ms);
    return new Promise(setImmediate); // what has been promised is there
  };
  return { made, sent, mailbox, running, pass };
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
  made.acknowledged(sent[0].id, "requested");
  running();
  assert.ok(made.latest);
  context.mock.timers.tick(4000);
  running();
  assert.equal(made.latest, undefined);
});

test("the answer to a trial is not waited for as to a click, once it has begun", (context) => {
  const { made, sent } = clicks(context);
  made.post({ command: "save" });
  made.post({ command: "try" });
  assert.equal(made.latest.command, "try");
  made.acknowledged(sent[1].id, "requested");
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

test("a click that the kernel refuses with its acknowledgement is over, with the reason", (context) => {
  const { made, sent, running } = clicks(context);
  const done = mock.fn();
  running({ id: "a", state: "applied", text: "paused" });
  made.post({ command: "restore", checkpoint: "ckpt-1" }, done);
  made.acknowledged(sent[0].id, "unknown command 'restore'");
  const refused = { id: sent[0].id, command: "restore", state: "refused" };
  assert.deepEqual(made.answer, { ...refused, text: "unknown command 'restore'" });
  assert.deepEqual(done.mock.calls[0].arguments, [made.answer]);
  assert.equal(made.of("restore"), undefined);
  running({ id: "a", state: "applied", text: "paused" });
  assert.ok(made.answer);
  running({ id: "b", state: "applied", text: "running again" });
  assert.equal(made.answer, null, "there is another answer to tell");
});

test("the id of a click is its own, and can name a file", (context) => {
  const { made, sent } = clicks(context);
  made.post({ command: "pause" });
  made.post({ command: "save" });
  for (const { id } of sent) assert.match(id, /^[0-9a-f]{32}$/);
  assert.notEqual(sent[0].id, sent[1].id);
});

test("a click that is taken in time is not sent through the run's folder", async (context) => {
  const { made, sent, mailbox, pass } = clicks(context, "");
  made.post({ command: "pause" });
  made.acknowledged(sent[0].id, "requested");
  await pass(1500);
  assert.equal(mailbox.send.mock.callCount(), 0);
});

test("a late click is sent through the run's folder, once and with its own id", async (context) => {
  const { made, sent, mailbox, running, pass } = clicks(context, "");
  const command = { command: "set", values: { rate: 0.5 } };
  made.post(command);
  await pass(1500);
  await pass(9000);
  assert.deepEqual(
    mailbox.send.mock.calls.map((call) => call.arguments),
    [[sent[0].id, command]],
  );
  assert.equal(made.latest.sent, true);
  running({ id: sent[0].id, state: "applied", text: "set" });
  assert.equal(made.latest, undefined);
});

test("a click that cannot be sent through the run's folder waits for the kernel", async (context) => {
  for (const problem of ["404", null]) {
    const { made, sent, mailbox, pass } = clicks(context, problem);
    made.post({ command: "pause" });
    await pass(1500);
    assert.deepEqual([made.latest.sent, made.latest.problem], [false, problem ?? ""]);
    await pass(1000);
    assert.equal(mailbox.answer.mock.callCount(), 0);
    made.acknowledged(sent[0].id, "requested");
    assert.equal(made.latest.late, false);
    context.mock.timers.reset();
  }
});

test("an answer in the run's folder settles a click that no receipt tells of", async (context) => {
  const { made, mailbox, pass, running } = clicks(context, "");
  const done = mock.fn();
  running();
  made.post({ command: "stop" }, done);
  await pass(1500);
  await pass(1000);
  assert.ok(made.latest.late);
  mailbox.answer.mock.mockImplementation(async () => ({ state: "requested" }));
  await pass(1000);
  assert.deepEqual([made.latest.late, made.latest.received], [false, true]);
  const answer = { id: "4f2a", command: "stop", state: "applied", text: "stopped" };
  mailbox.answer.mock.mockImplementation(async () => answer);
  await pass(1000);
  assert.deepEqual(made.answer, answer);
  assert.deepEqual(done.mock.calls[0].arguments, [made.answer]);
  running();
  assert.ok(made.answer);
  await pass(9000);
  assert.equal(done.mock.callCount(), 1);
});

test("a click that is refused before the run has seen it waits for the kernel", async (context) => {
  const { made, sent, mailbox, pass } = clicks(context, "");
  made.post({ command: "pause" });
  await pass(1500);
  const text = "This command is refused: it belongs to user 7, and the run to user 8.";
  mailbox.answer.mock.mockImplementation(async () => ({ state: "refused", text }));
  await pass(1000);
  assert.deepEqual([made.latest.sent, made.latest.problem, made.answer], [false, text, null]);
  made.acknowledged(sent[0].id, "requested");
  assert.ok(made.latest.received);
});

test("the kernel's word for a click that is settled changes nothing", async (context) => {
  const { made, sent, mailbox, running, pass } = clicks(context, "");
  const done = mock.fn();
  made.post({ command: "pause" }, done);
  await pass(1500);
  running({ id: sent[0].id, state: "applied", text: "paused" });
  made.acknowledged(sent[0].id, "requested");
  made.acknowledged(sent[0].id, "The run has ended");
  await pass(9000);
  assert.equal(made.latest, undefined);
  assert.equal(made.answer, null);
  assert.equal(done.mock.callCount(), 1);
  assert.equal(mailbox.answer.mock.callCount(), 0);
});

test("a click that the kernel takes while it is sent through the folder is the kernel's", async (context) => {
  const { made, sent, mailbox, pass } = clicks(context, "");
  made.post({ command: "pause" });
  context.mock.timers.tick(1500);
  made.acknowledged(sent[0].id, "requested");
  await pass(1000);
  assert.deepEqual([made.latest.sent, made.latest.late], [false, false]);
  assert.equal(mailbox.answer.mock.callCount(), 0);
});
