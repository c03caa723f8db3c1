import assert from "node:assert/strict";
import { test } from "node:test";
import { glyph, grouped, halved, latest, listed, offers, offersOf, timeline, titled, trouble } from "../../nbtrain/panel/js/panel/marks.js";

let wall = 1000;
const mark = (event, step, more = {}) => ({ event, step, wall: wall++, text: "", edits: [], place: step, ...more });
const back = (step, to, event = "restore") => mark(event, step, { place: to });
const saved = (...steps) => steps.map((step) => [`ckpt-${step}`, step, 999]);
const RUNNING = { phase: "running", controls: { restore: true, set: true }, hyperparameters: [["learning_rate"]], checkpoints: [] };

// What is offered at the mark in this place: each text, and in brackets why it cannot be done.
const offered = (marks, at, status = {}) => {
  const all = timeline(marks, status.checkpoints);
  return offers(all, all.at(at), { ...RUNNING, ...status }).map(({ text, why }) => (why ? `${text} (${why})` : text));
};

test("what the run went back behind is abandoned, until it is there again", () => {
  const all = timeline([mark("save", 300), mark("set", 400), mark("save", 500), back(600, 300), mark("set", 350), back(700, 320)]);
  assert.deepEqual(all.map(({ abandoned }) => abandoned), [false, true, true, false, true, false]);
});

test("a start that goes on from a checkpoint abandons what came after it", () => {
  const all = timeline([mark("save", 300), mark("failed", 400), mark("resume", 300)]);
  assert.deepEqual(all.map(({ abandoned }) => abandoned), [false, true, false]);
});

test("a checkpoint of an earlier kernel has a mark, in the order of its time", () => {
  const marks = [mark("resume", 300), mark("save", 400)];
  const all = timeline(marks, [["ckpt-400", 400, marks[1].wall], ["ckpt-300", 300, 10]]);
  assert.deepEqual(all.map(({ event, step, text }) => [event, step, text]), [["checkpoint", 300, "ckpt-300"], ["resume", 300, ""], ["save", 400, ""]]);
});

test("marks that lie close are one, with the most telling first and the newest before the older", () => {
  const marks = ["save", "set", "nan", "set", "pause"].map((event, i) => mark(event, i));
  const groups = grouped(marks, [0, 4, 8, 12, 100], { apart: 20, from: 0, to: 200 });
  assert.deepEqual(groups.map(({ left, first, last }) => [left, first, last]), [[6, 0, 12], [100, 100, 100]]);
  assert.deepEqual(groups[0].marks.map(({ event, step }) => [event, step]), [["nan", 2], ["set", 3], ["set", 1], ["save", 0]]);
});

test("of a crowd the newest follow the most telling, then checkpoints by cadence, then what was abandoned", () => {
  const events = ["set", "checkpoint", "set", "pause", back(9, 4), "save", "checkpoint", "nan", "evaluate"];
  const marks = timeline(events.map((event, i) => (event.event ? event : mark(event, i === 2 ? 8 : 4))));
  const [{ marks: crowd }] = grouped(marks, marks.map(() => 0), { apart: 20, from: 0, to: 9 });
  assert.deepEqual(crowd.map(({ event, abandoned }) => (abandoned ? `(${event})` : event)), ["nan", "evaluate", "save", "restore", "pause", "set", "checkpoint", "checkpoint", "(set)"]);
});

test("no two groups lie closer than they may, and nothing is lost but what is out of sight", () => {
  const lefts = Array.from({ length: 300 }, (_, i) => ((i * 7919) % 1000) - 50);
  const groups = grouped(lefts.map((_, i) => mark(i % 9 ? "checkpoint" : "set", i)), lefts, { apart: 22, from: 0, to: 900 });
  for (let i = 1; i < groups.length; i++) assert.ok(groups[i].left - groups[i - 1].left >= 22);
  assert.equal(groups.reduce((n, { marks }) => n + marks.length, 0), lefts.filter((left) => left >= 0 && left <= 900).length);
});

test("the signs of two groups do not overlap, however many marks each stands for", () => {
  const wide = (number) => 9 + 9 * String(number).length;
  const random = (i) => (Math.sin(i) * 1e4) % 1;
  for (const [size, cadence] of [[40, 0], [300, 0], [300, 0.5], [1000, 0.9], [300, 1]]) {
    const places = Array.from({ length: size }, (_, i) => 23 * Math.floor(35 * Math.abs(random(i))) + (i % 2));
    const marks = places.map((_, i) => mark(Math.abs(random(i + 0.5)) < cadence ? "checkpoint" : "set", i));
    const groups = grouped(marks, places, { apart: 22, from: 0, to: 900, wide });
    assert.ok(groups.length > 5);
    for (let i = 1; i < groups.length; i++) {
      const [one, other] = [groups[i - 1], groups[i]];
      assert.ok(other.left - one.left >= (wide(one.number) + wide(other.number)) / 2, `${one.number} at ${one.left}, ${other.number} at ${other.left}`);
    }
    assert.equal(groups.reduce((n, { marks }) => n + marks.length, 0), size);
  }
});

test("two marks stand apart where the signs of two groups would be one", () => {
  const wide = (number) => (number > 9 ? 26 : 13);
  const groups = (size) => grouped(Array.from({ length: 2 * size }, (_, i) => mark("set", i)), Array.from({ length: 2 * size }, (_, i) => (i < size ? 100 : 124)), { apart: 22, from: 0, to: 900, wide });
  assert.deepEqual(groups(1).map(({ left, number }) => [left, number]), [[100, 1], [124, 1]]);
  assert.deepEqual(groups(16).map(({ left, number }) => [left, number]), [[112, 32]]);
});

test("checkpoints by cadence whose number would overlap another sign are one with it", () => {
  const wide = (number) => (number > 9 ? 26 : 13);
  const groups = (number) => {
    const marks = Array.from({ length: 16 + number }, (_, i) => mark(i < 16 ? "set" : "checkpoint", i));
    return grouped(marks, marks.map((_, i) => (i < 16 ? 100 : 124)), { apart: 22, from: 0, to: 900, wide });
  };
  assert.deepEqual(groups(2).map(({ left, number }) => [left, number]), [[100, 16], [124, 2]]);
  assert.deepEqual(groups(12).map(({ left, number, marks }) => [left, number, marks.length]), [[100, 16, 28]]);
});

test("checkpoints by cadence do not move the mark that they lie about, nor count with it", () => {
  const lefts = Array.from({ length: 100 }, (_, i) => 3 * i);
  const marks = lefts.map((_, i) => mark(i === 40 ? "set" : "checkpoint", i));
  const groups = grouped(marks, lefts, { apart: 22, from: 0, to: 900 });
  const group = groups.find(({ marks: [{ event }] }) => event === "set");
  assert.deepEqual([group.left, group.first, group.last, group.number], [120, 120, 120, 1]);
  assert.equal(groups.reduce((n, { marks }) => n + marks.length, 0), 100);
  assert.equal(groups[0].number, groups[0].marks.length);
  for (let i = 1; i < groups.length; i++) assert.ok(groups[i].left - groups[i - 1].left >= 22);
});

test("an abandoned mark does not stand for one that counts", () => {
  const marks = timeline([mark("nan", 5), back(5, 4)]);
  assert.equal(grouped(marks, [0, 0], { apart: 20, from: 0, to: 9 })[0].marks[0].event, "restore");
});

test("what is not known has a plain glyph, and everything that is known another", () => {
  const known = ["nan", "failed", "recovery", "restore", "reverted", "kept", "try", "set", "evaluate", "pause", "resume", "save", "checkpoint", "new"];
  assert.equal(new Set(known.map((event) => glyph(mark(event, 1)))).size, known.length);
});

test("the end of a trial looks as it ended", () => {
  const ends = [mark("try", 9, { text: "kept rate 1: loss 2 → 1" }), mark("try", 9, { text: "back to step 5, rate 2 again", place: 5 }), mark("try", 9)];
  assert.deepEqual(ends.map(glyph), ["✓", "↺", "◇"]);
});

test("a mark is told with its step, where it led, and the time of day", () => {
  const today = Math.floor(new Date(new Date().toDateString()) / 1000) + 3 * 3600 + 5;
  assert.equal(titled(mark("save", 1200, { wall: today })), "save · step 1,200 · 03:00:05");
  const [gone] = timeline([back(1200, 800), mark("resume", 700)]);
  assert.match(titled(gone), /^restore · step 1,200 → step 800 · \d{4}-\d\d-\d\d [\d:]+ · abandoned$/);
});

test("a checkpoint is listed with its step and time, and what tells it from others", () => {
  const marks = [mark("save", 300), mark("save", 500), back(600, 300), mark("save", 400)];
  const [first, second, , last] = marks.map(({ wall }) => wall);
  const checkpoints = [["ckpt-400", 400, last], ["trial/ckpt-390", 390, last - 0.5], ["last_good/ckpt-550", 550, second + 0.5], ["ckpt-500", 500, second], ["last_good/ckpt-250", 250, first - 1], ["ckpt-300", 300, first]];
  const all = timeline(marks, checkpoints);
  const words = checkpoints.map((each) => listed(all, each).replace(/ \d{4}-\d\d-\d\d [\d:]+/, ""));
  assert.match(listed(all, checkpoints[0]), /^step 400 · \d{4}-\d\d-\d\d [\d:]{8}$/);
  assert.deepEqual(words, ["step 400 ·", "step 390 · · where a trial begins", "step 550 · · copy · abandoned", "step 500 · · abandoned", "step 250 · · copy", "step 300 ·"]);
});

test("what is listed as abandoned is so in the curve, whether it was saved, copied, or of an earlier kernel", () => {
  const marks = [mark("save", 300), mark("pause", 350), back(360, 320), mark("save", 340), back(345, 300), mark("resume", 300), mark("save", 340)];
  const walls = marks.map(({ wall }) => wall);
  const earlier = ["ckpt-200", 200, walls[0] - 5];
  const all = timeline(marks, [earlier]);
  const isLeft = (checkpoint) => listed(all, checkpoint).endsWith(" · abandoned");
  assert.equal(isLeft(earlier), false);
  assert.equal(isLeft(["ckpt-340", 340, walls.at(-1)]), false); // saved anew
  const copies = marks.map(({ place, wall }) => isLeft([`last_good/ckpt-${place}`, place, wall]));
  assert.deepEqual(copies, all.slice(1).map(({ abandoned }) => abandoned));
  assert.deepEqual(copies, [false, true, true, true, false, false, false]);
  assert.equal(listed(timeline([mark("resume", 100)], [["ckpt-200", 200, 900]]), ["ckpt-200", 200, 900]).endsWith("abandoned"), true);
});

test("what a restore takes that names none is listed first: no copy of a good state", () => {
  const copy = ["last_good/ckpt-9", 9, 1];
  const marks = [mark("save", 300), back(400, 200)];
  assert.deepEqual(latest([], []), [null, "no checkpoint yet"]);
  assert.deepEqual(latest([], [copy]), [null, "only copies: choose one"]);
  assert.deepEqual(latest([], [copy, ["ckpt-5", 5, 0]]), ["ckpt-5", "latest · step 5"]);
  assert.deepEqual(latest([], [copy, ["trial/ckpt-7", 7, 0], ["ckpt-5", 5, 0]]), ["trial/ckpt-7", "latest · step 7"]);
  const left = ["ckpt-300", 300, marks[0].wall];
  assert.deepEqual(latest(timeline(marks), [copy, left]), ["ckpt-300", "latest · step 300 · abandoned"]);
  assert.deepEqual(latest(timeline(marks), [copy, left, ["ckpt-150", 150, 0]]), ["ckpt-150", "latest · step 150"]);
});

test("what several marks offer is offered once", () => {
  const all = timeline([mark("save", 300), mark("pause", 400), mark("resume", 400), mark("set", 400, { edits: [["rate", 1, 2]] })]);
  const status = { ...RUNNING, hyperparameters: [["rate"]], values: [2], checkpoints: saved(300) };
  const texts = offersOf(all, all.slice(1), status).map(({ offers }) => offers.map(({ text }) => text));
  assert.deepEqual(texts, [["Restore step 300"], [], ["Set rate back to 1"]]);
});

test("a checkpoint that is there is offered by its name", () => {
  const all = timeline([mark("save", 300)]);
  const [offer] = offers(all, all[0], { ...RUNNING, checkpoints: saved(300) });
  assert.deepEqual(offer, { text: "Restore step 300", why: null, command: "restore", more: { checkpoint: "ckpt-300" } });
});

test("of one that is not, the one before it is offered", () => {
  const marks = [mark("checkpoint", 100), mark("checkpoint", 200)];
  assert.deepEqual(offered(marks, 1, { checkpoints: saved(100) }), ["Restore step 200 (its checkpoint has been deleted)", "Restore step 100"]);
  assert.deepEqual(offered(marks, 0), ["Restore step 100 (its checkpoint has been deleted)"]);
});

test("one that is older than those that are listed is offered by its step: the kernel knows", () => {
  const marks = [mark("checkpoint", 100), mark("checkpoint", 200)];
  const all = timeline(marks, [["ckpt-200", 200, marks[1].wall]]);
  const status = { ...RUNNING, checkpoints: [["ckpt-200", 200, marks[1].wall]], unlisted: 980 };
  assert.equal(offers(all, all[0], status)[0].more.checkpoint, 100);
});

test("one that was saved anew is another", () => {
  const marks = [mark("save", 300), back(400, 200), mark("save", 300)];
  const [first] = offered(marks, 0, { checkpoints: saved(300) });
  assert.match(first, /^Restore step 300 \(it was saved anew at /);
  assert.deepEqual(offered(marks, 2, { checkpoints: saved(300) }), ["Restore step 300"]);
});

test("an edit can be set back, or the checkpoint before it be restored", () => {
  const edited = mark("set", 300, { edits: [["learning_rate", 0.00001, 0.001]] });
  const marks = [mark("save", 200), mark("save", 300), edited, mark("save", 400)];
  assert.deepEqual(offered(marks, 2, { checkpoints: saved(200, 300, 400) }), ["Set learning_rate back to 1e-5", "Restore step 300"]);
  const all = timeline(marks);
  assert.deepEqual(offers(all, all[2], RUNNING)[0].more, { values: { learning_rate: 0.00001 } });
});

test("an edit whose old value is there again is none to set back", () => {
  const marks = [mark("set", 300, { edits: [["learning_rate", 0.0003, 3]] })];
  assert.deepEqual(offered(marks, 0, { values: [0.0003] }), ["Set learning_rate back to 0.0003 (it is so already)"]);
  assert.deepEqual(offered(marks, 0, { values: [3] }), ["Set learning_rate back to 0.0003"]);
});

test("a checkpoint of another course, or saved later, does not lie before a mark", () => {
  const marks = [mark("save", 200), mark("save", 400), back(500, 200), mark("set", 450, { edits: [["learning_rate", 1, 2]] }), mark("save", 450)];
  const checkpoints = saved(200, 400, 450);
  assert.deepEqual(offered(marks, 3, { checkpoints }), ["Set learning_rate back to 1", "Restore step 200"]);
  assert.deepEqual(offered([mark("save", 200), mark("pause", 400), back(500, 200), mark("save", 300)], 1, { checkpoints: saved(200, 300) }), ["Restore step 200"]);
});

test("after NaN the step before it is offered, with half of the rate where there is one", () => {
  const marks = [mark("save", 200), mark("save", 300), mark("nan", 300)];
  const checkpoints = saved(200, 300);
  assert.deepEqual(offered(marks, 2, { checkpoints }), ["Restore step 200 and halve learning_rate", "Restore step 200"]);
  assert.deepEqual(offered(marks, 2, { checkpoints, hyperparameters: [["dropout"]] }), ["Restore step 200"]);
  assert.deepEqual(offered(marks, 2, { checkpoints, hyperparameters: [["learning_rate_factor"]] })[0], "Restore step 200 and halve learning_rate_factor");
});

test("what is halved is the lesser of what it was before the restore and what that brought back", () => {
  assert.equal(halved(200, 200), 100);
  assert.equal(halved(100, 200), 50);
  assert.equal(halved(400, 200), 100);
  assert.equal(halved("NaN", 200), 100);
  assert.equal(halved(100, "NaN"), null);
  assert.equal(halved(100, undefined), null);
});

test("after NaN a copy of a good state that is newer than the checkpoints is offered", () => {
  const marks = [mark("save", 200), mark("pause", 250), mark("nan", 300)];
  const copy = (step, wall) => [`last_good/ckpt-${step}`, step, wall];
  const [, pause] = marks;
  assert.equal(offered(marks, 2, { checkpoints: [copy(290, pause.wall), ...saved(200)] })[0], "Restore step 290 and halve learning_rate");
  assert.equal(offered(marks, 2, { checkpoints: [copy(150, pause.wall), ...saved(200)] })[0], "Restore step 200 and halve learning_rate");
  assert.equal(offered([marks[2]], 0, { checkpoints: [copy(0, pause.wall)] })[0], "Restore step 0 and halve learning_rate");
  const abandoned = [back(290, 200), mark("nan", 295)];
  assert.equal(offered([marks[0], ...abandoned], 2, { checkpoints: [copy(290, pause.wall), ...saved(200)] })[0], "Restore step 200 and halve learning_rate");
});

test("after NaN that is offered which the run itself calls good, and nothing where it says that there is none", () => {
  const told = (step, good) => mark("nan", step, { text: `Paused at step ${step}: loss is NaN. Last good checkpoint: step ${good}. Restore it: run.restore(${good}); run.resume().` });
  assert.deepEqual(offered([mark("save", 200), mark("save", 299), told(300, 200)], 2, { checkpoints: saved(200, 299), hyperparameters: [] }), ["Restore step 200"]);
  const copies = [["last_good/ckpt-299", 299, 0], ["last_good/ckpt-0", 0, 0]];
  assert.deepEqual(offered([told(300, 0)], 0, { checkpoints: copies, hyperparameters: [] }), ["Restore step 0"]);
  const none = mark("nan", 1, { text: "Paused at step 1: loss is NaN since step 1. There is no good checkpoint to go back to: build the model anew." });
  assert.deepEqual(offered([none], 0, { checkpoints: copies }), []);
});

test("a copy that the run has gone back to is offered once more, and none that it has gone back behind", () => {
  const copies = [["last_good/ckpt-290", 290, wall++], ["last_good/ckpt-280", 280, wall++]];
  const again = [mark("nan", 300), back(300, 290), mark("nan", 295)];
  assert.equal(offered(again, 2, { checkpoints: copies, hyperparameters: [] })[0], "Restore step 290");
  assert.equal(offered([mark("nan", 300), back(300, 280), mark("nan", 295)], 2, { checkpoints: copies, hyperparameters: [] })[0], "Restore step 280");
});

test("a checkpoint and a copy of one step are two states, and the mark means its own", () => {
  const all = timeline([mark("save", 300)]);
  const status = { ...RUNNING, checkpoints: [["trial/ckpt-300", 300, wall++], ...saved(300)] };
  assert.equal(offers(all, all[0], status)[0].more.checkpoint, "ckpt-300");
});

test("what cannot be done now says why", () => {
  const marks = [mark("save", 200), mark("set", 300, { edits: [["learning_rate", 1, 2]] })];
  const at = (phase, more) => offered(marks, 1, { checkpoints: saved(200), phase, controls: {}, ...more });
  assert.deepEqual(at("stopping"), ["Set learning_rate back to 1 (the run is stopping)", "Restore step 200 (the run is stopping)"]);
  assert.match(at("failed")[1], /\(the run has ended: start it again to go on\)$/);
  assert.match(at("running", { silentSince: "12:00:00" })[0], /\(no word from the kernel since 12:00:00\)$/);
  assert.deepEqual(offered(marks, 1, { hyperparameters: [] }), ["Set learning_rate back to 1 (there is no hyperparameter learning_rate)"]);
});

test("where nothing was saved there is nothing to restore", () => {
  assert.deepEqual(offered([mark("evaluate", 5), mark("something", 6)], 1), []);
});

test("what a trial has undone is not offered to be done again", () => {
  const edits = [["learning_rate", 10, 0.01]];
  const marks = [mark("checkpoint", 100), { ...back(300, 100, "try"), text: "back to step 100, learning_rate 0.01 again", edits }];
  assert.deepEqual(offered(marks, 1, { checkpoints: saved(100) }), ["Restore step 100"]);
});

test("a copy of a good state is no mark", () => {
  assert.deepEqual(timeline([mark("save", 400)], [["last_good/ckpt-0", 0, 10]]).map(({ step }) => step), [400]);
});

test("an edit that was undone is none to go back behind after NaN", () => {
  const texts = (...marks) => offered([...marks, mark("save", 320), mark("nan", 330)], -1, { checkpoints: saved(280, 300, 320) });
  const raised = (event) => mark(event, 300, { edits: [["learning_rate", 0.001, 0.9]] });
  const here = ["Restore step 320 and halve learning_rate", "Restore step 320"];
  const reverted = { text: "learning_rate 0.001 again", edits: [["learning_rate", 0.9, 0.001]] };
  assert.deepEqual(texts(mark("save", 280), raised("try"), { ...back(310, 300, "try"), ...reverted }), here, "by a trial");
  assert.deepEqual(texts(mark("save", 280), raised("try"), mark("try", 310, reverted)), here, "by one that nothing saves");
  assert.equal(texts(mark("save", 280), raised("set"), raised("try"), { ...back(310, 300, "try"), ...reverted }).length, 3, "another before the trial");
  assert.equal(texts(mark("save", 280), raised("try"), mark("try", 310, { text: "kept learning_rate 0.9" })).length, 3, "it was kept");
  assert.deepEqual(texts(mark("save", 280), mark("save", 300), raised("set"), back(310, 300)), here, "by a restore to the same step");
  assert.deepEqual(texts(mark("save", 280), mark("save", 300), raised("set"), back(300, 300)), here, "without a step");
  assert.equal(texts(mark("save", 280), raised("set"), mark("save", 300), back(310, 300)).length, 3, "it was saved");
});

test("what a run has paused for is known until something was done about it", () => {
  const nan = mark("nan", 300);
  const found = (...later) => trouble(timeline([mark("nan", 100), mark("resume", 100), mark("save", 200), nan, ...later]))?.step;
  assert.equal(found(), 300);
  assert.equal(found(mark("set", 300), mark("pause", 300), mark("evaluate", 300)), 300);
  assert.equal(found(mark("resume", 300)), undefined);
  assert.equal(found(back(305, 200)), undefined);
  assert.equal(found(back(305, 302)), undefined);
  assert.equal(found(back(305, 200, "recovery")), undefined);
  assert.equal(trouble(timeline([mark("save", 200)])), null);
});

test("after NaN the way back behind an edit is offered too, where the last good state came after it", () => {
  const raised = mark("set", 300, { edits: [["learning_rate", 0.001, 0.9]] });
  const lowered = mark("set", 320, { edits: [["learning_rate", 0.9, 0.45]] });
  const status = { checkpoints: saved(280, 320) };
  const marks = [mark("save", 280), raised, mark("save", 320), mark("nan", 330)];
  const behind = "Restore step 280, before learning_rate 0.001 → 0.9";
  assert.deepEqual(offered(marks, -1, status), ["Restore step 320 and halve learning_rate", "Restore step 320", behind]);
  const again = [...marks, back(330, 320), lowered, mark("nan", 350)];
  assert.deepEqual(offered(again, -1, status).at(-1), behind, "to lower the rate was no harm");
  assert.equal(offered([mark("save", 280), mark("save", 320), { ...raised, step: 325, place: 325, wall: wall++ }, mark("nan", 330)], -1, status).length, 2, "it came after");
  const twice = [...marks.slice(0, 3), { ...mark("set", 325), edits: [["learning_rate", 0.9, 300]] }, mark("nan", 330)];
  assert.equal(offered(twice, -1, status).length, 2, "the last one came after");
  assert.equal(offered([...marks.slice(0, 3), back(330, 280), mark("save", 290), mark("nan", 330)], -1, { checkpoints: saved(280, 290) }).length, 2, "the run went back behind it");
  assert.equal(offered([raised, mark("save", 320), mark("nan", 330)], -1, { checkpoints: saved(320) }).length, 2, "nothing is older");
  const copies = [["last_good/ckpt-320", 320, wall], ["last_good/ckpt-290", 290, 999]];
  assert.equal(offered([raised, { ...mark("nan", 330), wall: wall + 1 }], -1, { checkpoints: copies }).at(-1), behind.replace("280", "290"), "a copy");
});
