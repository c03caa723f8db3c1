import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { Notices } from "../../../nbtrain/panel/js/panel/notices.js";

// A window whose reader answers so, and what was shown.
function page(answer, visibilityState = "hidden") {
  const shown = [];
  class Notification {
    static asked = 0;

    static async requestPermission() {
      Notification.asked++;
      return answer;
    }

    constructor(title, options) {
      shown.push({ title, ...options, notification: this });
    }
  }
  return { Notification, shown, document: { visibilityState }, focus: mock.fn() };
}

const running = { name: "digits", phase: "running", step: 1200, receipts: [] };
const finished = { ...running, phase: "finished" };

async function asked(answer = "granted", visibility) {
  const seen = page(answer, visibility);
  const notices = new Notices(mock.fn(), seen);
  await notices.toggle();
  notices.update(running);
  return { notices, ...seen };
}

test("nobody is asked unprompted, and nothing is shown", () => {
  const seen = page("granted");
  const notices = new Notices(mock.fn(), seen);
  notices.update(running);
  notices.update(finished);
  assert.equal(seen.Notification.asked, 0);
  assert.deepEqual(seen.shown, []);
});

test("the end of a run is told while the page is hidden", async () => {
  const { notices, shown, focus, Notification } = await asked();
  notices.update({ ...running, step: 1300 });
  notices.update(finished);
  notices.update(finished);
  assert.equal(Notification.asked, 1);
  assert.equal(notices.changed.mock.callCount(), 1);
  assert.deepEqual(
    shown.map(({ title, body, tag }) => [title, body, tag]),
    [["digits: finished", "at step 1,200", "nbtrain digits finished 1200"]],
  );
  shown[0].notification.onclick();
  assert.equal(focus.mock.callCount(), 1);
});

test("nothing is told to who sees the page", async () => {
  const { notices, shown } = await asked("granted", "visible");
  notices.update(finished);
  assert.deepEqual(shown, []);
});

test("a failure is told by the last line of its traceback", async () => {
  const { notices, shown } = await asked();
  notices.update({ ...running, phase: "failed", failure: "ValueError: no batch" });
  assert.equal(shown[0].body, "at step 1,200: ValueError: no batch");
});

test("a pause by itself is told with its reason, one that was asked for is not", async () => {
  const { notices, shown } = await asked();
  const message = "Paused at step 1,200: loss is NaN.";
  const paused = { ...running, phase: "paused", message };
  notices.update(paused);
  assert.deepEqual(
    shown.map(({ body }) => body),
    [message],
  );
  notices.update(running);
  notices.update({ ...paused, receipts: [{ command: "pause", state: "applied" }] });
  assert.equal(shown.length, 1);
});

test("a pause without a reason, as of a run that another process steers, is told by its step", async () => {
  const { notices, shown } = await asked();
  notices.update({ ...running, phase: "paused", message: null });
  assert.deepEqual(
    shown.map(({ body }) => body),
    ["at step 1,200"],
  );
});

test("what is no end and no pause is not told", async () => {
  const { notices, shown } = await asked();
  notices.update({ ...running, phase: "stopping" });
  notices.update({ ...running, phase: "preparing" });
  assert.deepEqual(shown, []);
});

test("a run that had ended when the page opened is not told", async () => {
  const seen = page("granted");
  const notices = new Notices(mock.fn(), seen);
  await notices.toggle();
  notices.update(finished);
  assert.deepEqual(seen.shown, []);
});

test("a second click ends it", async () => {
  const { notices, shown, Notification } = await asked();
  await notices.toggle();
  assert.equal(notices.on, false);
  notices.update(finished);
  assert.deepEqual([shown, Notification.asked], [[], 1]);
});

test("a refusal of the browser is told in words", async () => {
  const { notices, shown } = await asked("denied");
  assert.equal(notices.on, false);
  assert.match(notices.refusal, /^The browser blocks/);
  notices.update(finished);
  assert.deepEqual(shown, []);
});

test("a question that was closed leaves all as it was", async () => {
  const { notices } = await asked("default");
  assert.deepEqual([notices.on, notices.refusal], [false, ""]);
});

test("a page without notifications is told in words", async () => {
  const notices = new Notices(mock.fn(), { document: { visibilityState: "hidden" } });
  await notices.toggle();
  assert.equal(notices.on, false);
  assert.match(notices.refusal, /HTTPS/);
  assert.equal(notices.changed.mock.callCount(), 1);
});

test("a browser that lets only service workers notify is told in words", async () => {
  const { notices, Notification } = await asked();
  notices.page = {
    ...notices.page,
    Notification: class extends Notification {
      constructor() {
        super();
        throw new TypeError("Illegal constructor");
      }
    },
  };
  notices.update(finished);
  assert.equal(notices.on, false);
  assert.match(notices.refusal, /HTTPS/);
});
