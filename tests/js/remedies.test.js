import assert from "node:assert/strict";
import { test } from "node:test";
import { timeline } from "../../nbtrain/panel/js/panel/marks.js";
import { halved, offers, offersOf } from "../../nbtrain/panel/js/panel/remedies.js";

let wall = 1000;
const good = (event, step) => (event === "nan" ? { good: step - 1 } : {});
const mark = (event, step, more = {}) => ({
  event,
  step,
  wall: wall++,
  text: "",
  edits: [],
  place: step,
  ...good(event, step),
  ...more,
});
const back = (step, to, event = "restore") => mark(event, step, { place: to });
const saved = (...steps) => steps.map((step) => [`ckpt-${step}`, step, 999]);
const RUNNING = {
  phase: "running",
  controls: { restore: true, set: true },
  hyperparameters: [["learning_rate"]],
  checkpoints: [],
};

// What is offered at the mark in this place: each text, and in brackets why it cannot be done.
const offered = (marks, at, status = {}) => {
  const all = timeline(marks, status.checkpoints);
  return offers(all, all.at(at), { ...RUNNING, ...status }).map(({ text, why }) =>
    why ? `${text} (${why})` : text,
  );
};

test("what several marks offer is offered once", () => {
  const all = timeline([
    mark("save", 300),
    mark("pause", 400),
    mark("resume", 400),
    mark("set", 400, { edits: [["rate", 1, 2]] }),
  ]);
  const status = { ...RUNNING, hyperparameters: [["rate"]], values: [2], checkpoints: saved(300) };
  const texts = offersOf(all, all.slice(1), status).map(({ offers }) =>
    offers.map(({ text }) => text),
  );
  assert.deepEqual(texts, [["Restore step 300"], [], ["Set rate back to 1"]]);
});

test("a checkpoint that is there is offered by its name", () => {
  const all = timeline([mark("save", 300)]);
  const [offer] = offers(all, all[0], { ...RUNNING, checkpoints: saved(300) });
  assert.deepEqual(offer, {
    text: "Restore step 300",
    why: null,
    command: "restore",
    more: { checkpoint: "ckpt-300" },
  });
});

test("of one that is not, the one before it is offered", () => {
  const marks = [mark("checkpoint", 100), mark("checkpoint", 200)];
  assert.deepEqual(offered(marks, 1, { checkpoints: saved(100) }), [
    "Restore step 200 (its checkpoint has been deleted)",
    "Restore step 100",
  ]);
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
  assert.deepEqual(offered(marks, 2, { checkpoints: saved(200, 300, 400) }), [
    "Set learning_rate back to 1e-5",
    "Restore step 300",
  ]);
  const all = timeline(marks);
  assert.deepEqual(offers(all, all[2], RUNNING)[0].more, { values: { learning_rate: 0.00001 } });
});

test("an edit whose old value is there again is none to set back", () => {
  const marks = [mark("set", 300, { edits: [["learning_rate", 0.0003, 3]] })];
  assert.deepEqual(offered(marks, 0, { values: [0.0003] }), [
    "Set learning_rate back to 0.0003 (it is so already)",
  ]);
  assert.deepEqual(offered(marks, 0, { values: [3] }), ["Set learning_rate back to 0.0003"]);
});

test("a checkpoint of another course, or saved later, does not lie before a mark", () => {
  const marks = [
    mark("save", 200),
    mark("save", 400),
    back(500, 200),
    mark("set", 450, { edits: [["learning_rate", 1, 2]] }),
    mark("save", 450),
  ];
  const checkpoints = saved(200, 400, 450);
  assert.deepEqual(offered(marks, 3, { checkpoints }), [
    "Set learning_rate back to 1",
    "Restore step 200",
  ]);
  assert.deepEqual(
    offered([mark("save", 200), mark("pause", 400), back(500, 200), mark("save", 300)], 1, {
      checkpoints: saved(200, 300),
    }),
    ["Restore step 200"],
  );
});

test("after NaN the step before it is offered, with half of the rate where there is one", () => {
  const marks = [mark("save", 200), mark("save", 300), mark("nan", 300)];
  const checkpoints = saved(200, 300);
  assert.deepEqual(offered(marks, 2, { checkpoints }), [
    "Restore step 200 and halve learning_rate",
    "Restore step 200",
  ]);
  assert.deepEqual(offered(marks, 2, { checkpoints, hyperparameters: [["dropout"]] }), [
    "Restore step 200",
  ]);
  assert.deepEqual(
    offered(marks, 2, { checkpoints, hyperparameters: [["learning_rate_factor"]] })[0],
    "Restore step 200 and halve learning_rate_factor",
  );
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
  assert.equal(
    offered(marks, 2, { checkpoints: [copy(290, pause.wall), ...saved(200)] })[0],
    "Restore step 290 and halve learning_rate",
  );
  assert.equal(
    offered(marks, 2, { checkpoints: [copy(150, pause.wall), ...saved(200)] })[0],
    "Restore step 200 and halve learning_rate",
  );
  assert.equal(
    offered([marks[2]], 0, { checkpoints: [copy(0, pause.wall)] })[0],
    "Restore step 0 and halve learning_rate",
  );
  const abandoned = [back(290, 200), mark("nan", 295)];
  assert.equal(
    offered([marks[0], ...abandoned], 2, {
      checkpoints: [copy(290, pause.wall), ...saved(200)],
    })[0],
    "Restore step 200 and halve learning_rate",
  );
});

test("after NaN that is offered which the run itself calls good, and nothing where it says that there is none", () => {
  const told = (step, good) => mark("nan", step, { good });
  assert.deepEqual(
    offered([mark("save", 200), mark("save", 299), told(300, 200)], 2, {
      checkpoints: saved(200, 299),
      hyperparameters: [],
    }),
    ["Restore step 200"],
  );
  const copies = [
    ["last_good/ckpt-299", 299, 0],
    ["last_good/ckpt-0", 0, 0],
  ];
  assert.deepEqual(offered([told(300, 0)], 0, { checkpoints: copies, hyperparameters: [] }), [
    "Restore step 0",
  ]);
  assert.deepEqual(offered([told(1)], 0, { checkpoints: copies }), []);
});

test("a copy that the run has gone back to is offered once more, and none that it has gone back behind", () => {
  const copies = [
    ["last_good/ckpt-290", 290, wall++],
    ["last_good/ckpt-280", 280, wall++],
  ];
  const again = [mark("nan", 300), back(300, 290), mark("nan", 295)];
  assert.equal(
    offered(again, 2, { checkpoints: copies, hyperparameters: [] })[0],
    "Restore step 290",
  );
  assert.equal(
    offered([mark("nan", 300), back(300, 280), mark("nan", 295)], 2, {
      checkpoints: copies,
      hyperparameters: [],
    })[0],
    "Restore step 280",
  );
});

test("a checkpoint and a copy of one step are two states, and the mark means its own", () => {
  const all = timeline([mark("save", 300)]);
  const status = { ...RUNNING, checkpoints: [["trial/ckpt-300", 300, wall++], ...saved(300)] };
  assert.equal(offers(all, all[0], status)[0].more.checkpoint, "ckpt-300");
});

test("what cannot be done now says why", () => {
  const marks = [mark("save", 200), mark("set", 300, { edits: [["learning_rate", 1, 2]] })];
  const at = (phase, more) =>
    offered(marks, 1, { checkpoints: saved(200), phase, controls: {}, ...more });
  assert.deepEqual(at("stopping"), [
    "Set learning_rate back to 1 (the run is stopping)",
    "Restore step 200 (the run is stopping)",
  ]);
  assert.match(at("failed")[1], /\(the run has ended: start it again to go on\)$/);
  assert.match(
    at("running", { silentSince: "12:00:00" })[0],
    /\(no word from the kernel since 12:00:00\)$/,
  );
  assert.deepEqual(offered(marks, 1, { hyperparameters: [] }), [
    "Set learning_rate back to 1 (there is no hyperparameter learning_rate)",
  ]);
});

test("where nothing was saved there is nothing to restore", () => {
  assert.deepEqual(offered([mark("evaluate", 5), mark("something", 6)], 1), []);
});

test("what a trial has undone is not offered to be done again", () => {
  const edits = [["learning_rate", 10, 0.01]];
  const marks = [mark("checkpoint", 100), { ...back(300, 100, "try"), kept: false, edits }];
  assert.deepEqual(offered(marks, 1, { checkpoints: saved(100) }), ["Restore step 100"]);
});

test("an edit that was undone is none to go back behind after NaN", () => {
  const texts = (...marks) =>
    offered([...marks, mark("save", 320), mark("nan", 330)], -1, {
      checkpoints: saved(280, 300, 320),
    });
  const raised = (event) => mark(event, 300, { edits: [["learning_rate", 0.001, 0.9]] });
  const here = ["Restore step 320 and halve learning_rate", "Restore step 320"];
  const reverted = { kept: false, edits: [["learning_rate", 0.9, 0.001]] };
  assert.deepEqual(
    texts(mark("save", 280), raised("try"), { ...back(310, 300, "try"), ...reverted }),
    here,
    "by a trial",
  );
  assert.deepEqual(
    texts(mark("save", 280), raised("try"), mark("try", 310, reverted)),
    here,
    "by one that nothing saves",
  );
  assert.equal(
    texts(mark("save", 280), raised("set"), raised("try"), {
      ...back(310, 300, "try"),
      ...reverted,
    }).length,
    3,
    "another before the trial",
  );
  assert.equal(
    texts(mark("save", 280), raised("try"), mark("try", 310, { kept: true })).length,
    3,
    "it was kept",
  );
  assert.deepEqual(
    texts(mark("save", 280), mark("save", 300), raised("set"), back(310, 300)),
    here,
    "by a restore to the same step",
  );
  assert.deepEqual(
    texts(mark("save", 280), mark("save", 300), raised("set"), back(300, 300)),
    here,
    "without a step",
  );
  assert.equal(
    texts(mark("save", 280), raised("set"), mark("save", 300), back(310, 300)).length,
    3,
    "it was saved",
  );
});

test("after NaN the way back behind an edit is offered too, where the last good state came after it", () => {
  const raised = mark("set", 300, { edits: [["learning_rate", 0.001, 0.9]] });
  const lowered = mark("set", 320, { edits: [["learning_rate", 0.9, 0.45]] });
  const status = { checkpoints: saved(280, 320) };
  const marks = [mark("save", 280), raised, mark("save", 320), mark("nan", 330)];
  const behind = "Restore step 280, before learning_rate 0.001 → 0.9";
  assert.deepEqual(offered(marks, -1, status), [
    "Restore step 320 and halve learning_rate",
    "Restore step 320",
    behind,
  ]);
  const soon = [...marks.slice(0, 2), mark("save", 301), mark("nan", 304)];
  assert.deepEqual(
    offered(soon, -1, { checkpoints: saved(280, 301) })[0],
    behind,
    "saved too soon after the edit to count for it",
  );
  const again = [...marks, back(330, 320), lowered, mark("nan", 350)];
  assert.deepEqual(offered(again, -1, status)[0], behind, "to lower the rate was no harm");
  assert.equal(
    offered(
      [
        mark("save", 280),
        mark("save", 320),
        { ...raised, step: 325, place: 325, wall: wall++ },
        mark("nan", 330),
      ],
      -1,
      status,
    ).length,
    2,
    "it came after",
  );
  const twice = [
    ...marks.slice(0, 3),
    { ...mark("set", 325), edits: [["learning_rate", 0.9, 300]] },
    mark("nan", 330),
  ];
  assert.equal(offered(twice, -1, status).length, 2, "the last one came after");
  assert.equal(
    offered([...marks.slice(0, 3), back(330, 280), mark("save", 290), mark("nan", 330)], -1, {
      checkpoints: saved(280, 290),
    }).length,
    2,
    "the run went back behind it",
  );
  assert.equal(
    offered([raised, mark("save", 320), mark("nan", 330)], -1, { checkpoints: saved(320) }).length,
    2,
    "nothing is older",
  );
  const copies = [
    ["last_good/ckpt-320", 320, wall],
    ["last_good/ckpt-290", 290, 999],
  ];
  assert.equal(
    offered([raised, { ...mark("nan", 330), wall: wall + 1 }], -1, { checkpoints: copies }).at(-1),
    behind.replace("280", "290"),
    "a copy",
  );
});
