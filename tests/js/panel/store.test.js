import assert from "node:assert/strict";
import { test } from "node:test";
import { Store, fold } from "../../../nbtrain/panel/js/panel/store.js";

// The two buffers of a message; each bucket is [step, mean, lo, hi].
const buffers = (...buckets) => [
  new DataView(new Float64Array(buckets.map(([x]) => x)).buffer),
  new DataView(new Float32Array(buckets.flatMap(([, ...values]) => values)).buffer),
];
const snapshot = (seq, series, ...buckets) => [
  { t: "snap", seq, status: { step: 1 }, series, marks: [], marked: 0 },
  buffers(...buckets),
];
const LOSS = { tag: "loss", segment: 0, abandoned: false, stride: 1, n: 2 };
const filled = () => {
  const asked = [];
  const store = new Store(() => asked.push(true));
  store.receive(...snapshot(7, [LOSS], [1, 5, 5, 5], [2, 4, 4, 4]));
  return { store, asked, curve: store.curves[0] };
};

const charted = (tags, validations) => {
  const store = new Store(() => {});
  store.receive(
    {
      t: "snap",
      seq: 1,
      status: { validations },
      series: tags.map((tag) => ({ ...LOSS, tag, n: 0 })),
      marks: [],
    },
    buffers(),
  );
  return store.charts.map((lines) =>
    lines.map(({ tags, validates }) => (validates ? `${tags.join("+")}?` : tags[0])),
  );
};

test("a validation is the second line of the chart of what it validates, whichever came first", () => {
  const validations = { val_loss: "loss" };
  assert.deepEqual(charted(["loss", "rate", "val_loss"], validations), [
    ["loss", "val_loss?"],
    ["rate"],
  ]);
  assert.deepEqual(charted(["val_loss", "loss"], validations), [["loss", "val_loss?"]]);
});

test("a validation has its own chart while what it validates has not come", () => {
  assert.deepEqual(charted(["rate", "val_loss"], { val_loss: "loss" }), [["rate"], ["val_loss?"]]);
  assert.deepEqual(charted(["val_loss"], { val_loss: "val_loss" }), [["val_loss?"]]);
});

test("validations of one chart are one line, named by the newest of them", () => {
  const validations = { epoch_val_f1: "epoch_f1", val_f1: "epoch_f1" };
  const tags = ["epoch_f1", "epoch_val_f1", "val_f1"];
  assert.deepEqual(charted(tags, validations), [["epoch_f1", "epoch_val_f1+val_f1?"]]);
  const store = new Store(() => {});
  const series = tags.map((tag) => ({ ...LOSS, tag, n: 1 }));
  store.receive(...snapshot(1, series, [8, 5, 5, 5], [8, 4, 4, 4], [11, 3, 3, 3]));
  assert.equal(store.newest("epoch_val_f1", "val_f1"), "val_f1");
  assert.equal(store.of("epoch_val_f1", "val_f1").length, 2);
});

test("a tag that is named as something of JavaScript's has a chart like any other", () => {
  assert.deepEqual(charted(["constructor", "__proto__"], {}), [["constructor"], ["__proto__"]]);
});

test("what was recalled has its place before the others, though it comes last", () => {
  const { store } = filled();
  const series = ["rate", "loss"].map((tag, i) => [i + 1, 1, 0, 1, tag, -1]);
  store.receive({ t: "pts", seq: 8, status: {}, series }, buffers([1, 1, 1, 1], [1, 6, 6, 6]));
  assert.deepEqual(store.tags, ["rate", "loss"]);
});

test("a snapshot replaces everything", () => {
  const { store } = filled();
  store.receive(...snapshot(9, [{ ...LOSS, tag: "a", n: 1 }], [3, 1, 0, 2]));
  assert.deepEqual(store.tags, ["a"]);
  assert.deepEqual(store.curves[0].x, [3]);
  assert.deepEqual([store.curves[0].lo, store.curves[0].hi], [[0], [2]]);
});

test("an update truncates to its first bucket and appends", () => {
  const { store, curve } = filled();
  assert.ok(
    store.receive(
      { t: "pts", seq: 8, status: { step: 3 }, series: [[0, 1, 1, 2]] },
      buffers([2, 9, 9, 9], [3, 8, 8, 8]),
    ),
  );
  assert.deepEqual(curve.x, [1, 2, 3]);
  assert.deepEqual(curve.mean, [5, 9, 8]);
  assert.equal(store.status.step, 3);
});

test("an update at a larger stride folds what is there first", () => {
  const { store, curve } = filled();
  store.receive({ t: "pts", seq: 8, status: {}, series: [[0, 2, 1, 1]] }, buffers([3, 3, 2, 4]));
  assert.deepEqual(curve.x, [1, 3]);
  assert.deepEqual(curve.mean, [4.5, 3]);
  assert.deepEqual(
    [curve.lo, curve.hi],
    [
      [4, 2],
      [5, 4],
    ],
  );
});

test("folding keeps a lone last bucket, every finite value and the number of NaN", () => {
  const wall = [5, 6, 7];
  const curve = {
    stride: 1,
    x: [1, 2, 3],
    wall,
    mean: [1, NaN, 3],
    lo: [1, NaN, 3],
    hi: [1, NaN, 3],
    unseen: [null, [1, 0, 0], null],
  };
  fold(curve);
  const folded = { mean: [1, 3], lo: [1, 3], hi: [1, 3], unseen: [[1, 0, 0], null] };
  assert.deepEqual(curve, { stride: 2, x: [1, 3], wall: [5, 7], ...folded });
});

test("a folded bucket is the mean of its finite values, however many each had", () => {
  const { store } = filled();
  const counts = new Uint32Array([0, 3, 0, 0, 1, 0, 1, 0, 2, 0, 0, 4, 3, 4, 0, 0]);
  const rows = [
    [1, 8, 8, 8],
    [5, 4, 2, 6],
    [9, NaN, NaN, NaN],
    [13, NaN, NaN, NaN],
  ];
  const more = [new DataView(new Float32Array(4).buffer), new DataView(counts.buffer)];
  const [told, [steps, values]] = snapshot(8, [{ ...LOSS, n: 4, stride: 4 }], ...rows);
  store.receive(told, [steps, values, ...more]);
  const [curve] = store.curves;
  assert.deepEqual(curve.unseen, [
    [3, 0, 0],
    [0, 1, 0],
    [0, 0, 4],
    [4, 0, 0],
  ]);
  fold(curve);
  assert.deepEqual(
    [curve.mean, curve.lo, curve.hi],
    [
      [5, NaN],
      [2, NaN],
      [8, NaN],
    ],
  );
  assert.deepEqual(curve.unseen, [
    [3, 1, 0],
    [4, 0, 4],
  ]);
});

test("a bucket has the wall time of its first point, which a fold keeps", () => {
  const { store, curve } = filled();
  const timed = (steps, ...times) => [
    ...buffers(...steps.map((step) => [step, 0, 0, 0])),
    new DataView(new Float32Array(times).buffer),
  ];
  const series = [{ ...LOSS, n: 2 }];
  const told = { seq: 7, status: {}, marks: [], marked: 0 };
  store.receive({ t: "snap", ...told, series, origin: 1.7e9 }, timed([1, 2], 0, 0.5));
  assert.deepEqual(store.curves[0].wall, [1.7e9, 1.7e9 + 0.5]);
  const more = { t: "pts", seq: 8, status: {}, series: [[0, 2, 1, 1]], origin: 1.7e9 + 60 };
  store.receive(more, timed([3], 0.25));
  assert.deepEqual(store.curves[0].wall, [1.7e9, 1.7e9 + 60.25]);
  assert.deepEqual(curve.x, [1, 2], "those of the earlier snapshot are left alone");
});

test("a series without steps and times of its own has those of the series before", () => {
  const { store } = filled();
  const numbers = (Type, ...values) => new DataView(new Type(values).buffer);
  const series = [
    { ...LOSS, n: 2 },
    { ...LOSS, tag: "accuracy", n: 2 },
    { ...LOSS, tag: "late", n: 1 },
  ];
  const told = { seq: 7, status: {}, marks: [], marked: 0 };
  store.receive({ t: "snap", ...told, series, origin: 10, own: [0, 2] }, [
    numbers(Float64Array, 1, 2, 9),
    numbers(Float32Array, ...[1, 1, 1], ...[2, 2, 2], ...[3, 3, 3], ...[4, 4, 4], ...[5, 5, 5]),
    numbers(Float32Array, 0, 1, 8),
  ]);
  const read = store.curves.map(({ x, wall, mean }) => ({ x, wall, mean }));
  assert.deepEqual(read, [
    { x: [1, 2], wall: [10, 11], mean: [1, 2] },
    { x: [1, 2], wall: [10, 11], mean: [3, 4] },
    { x: [9], wall: [18], mean: [5] },
  ]);
});

test("a gap asks for a snapshot, once, and shows nothing until it comes", () => {
  const { store, asked, curve } = filled();
  const late = { t: "pts", seq: 10, status: { step: 9 }, series: [] };
  assert.equal(store.receive(late, buffers()), false);
  assert.equal(store.receive({ ...late, seq: 11 }, buffers()), false);
  assert.equal(asked.length, 1);
  assert.deepEqual(curve.x, [1, 2]);
  assert.ok(store.receive(...snapshot(12, [LOSS], [1, 5, 5, 5], [2, 4, 4, 4])));
});

test("an old update is ignored", () => {
  const { store, asked } = filled();
  assert.equal(
    store.receive({ t: "pts", seq: 7, status: { step: 99 }, series: [] }, buffers()),
    false,
  );
  assert.equal(store.status.step, 1);
  assert.equal(asked.length, 0);
});

test("nothing is taken before the first snapshot", () => {
  const store = new Store(() => {});
  assert.equal(store.receive({ t: "pts", seq: 0, status: {}, series: [] }, buffers()), false);
});

test("a new curve comes with its tag; what is abandoned leaves its own and comes as one more", () => {
  const { store } = filled();
  const series = [
    [1, 1, 0, 1, "loss", 0, true],
    [2, 1, 0, 1, "loss", 1, false],
    [0, 1, 1, 0],
  ];
  store.receive({ t: "pts", seq: 8, status: {}, series }, buffers([2, 7, 7, 7], [2, 5, 5, 5]));
  const found = store.of("loss").map(({ segment, abandoned, x }) => [segment, abandoned, x]);
  assert.deepEqual(found, [
    [0, false, [1]],
    [0, true, [2]],
    [1, false, [2]],
  ]);
});

test("buffers that do not begin at a multiple of eight bytes are read", () => {
  const shifted = buffers([1, 2, 3, 4]).map((view) => {
    const bytes = new Uint8Array(view.byteLength + 3);
    bytes.set(new Uint8Array(view.buffer), 3);
    return new DataView(bytes.buffer, 3);
  });
  const store = new Store(() => {});
  store.receive({ t: "snap", seq: 1, status: {}, series: [{ ...LOSS, n: 1 }], marks: [] }, shifted);
  assert.deepEqual(
    [store.curves[0].x, store.curves[0].mean, store.curves[0].lo, store.curves[0].hi],
    [[1], [2], [3], [4]],
  );
});

test("a tag knows the message that last changed it", () => {
  const { store } = filled();
  assert.equal(store.changedAt("loss"), 7);
  store.receive({ t: "pts", seq: 8, status: { step: 3 }, series: [] }, buffers());
  assert.equal(store.changedAt("loss"), 7);
  store.receive({ t: "pts", seq: 9, status: {}, series: [[0, 1, 1, 0]] }, buffers());
  assert.equal(store.changedAt("loss"), 9);
});

test("last values come by their tags, some at a time", () => {
  const { store } = filled();
  for (const [seq, last] of [
    [8, { loss: "0.5", rate: "1" }],
    [9, { loss: "0.25" }],
    [10, undefined],
  ]) {
    store.receive({ t: "pts", seq, status: last ? { last } : {}, series: [] }, buffers());
  }
  assert.deepEqual(store.status.last, { loss: "0.25", rate: "1" });
});

test("marks come once, and stand where the run went on", () => {
  const { store } = filled();
  assert.deepEqual([store.marks, store.markedAt], [[], 7]);
  store.receive(
    {
      t: "pts",
      seq: 8,
      status: {},
      series: [],
      marks: [
        ["save", 5, 1.5, "saved ckpt-5", "●", 18],
        ["restore", 9, 2.5, "back", "◀", 4, { to: 5 }],
      ],
      marked: 2,
    },
    buffers(),
  );
  store.receive(
    {
      t: "pts",
      seq: 9,
      status: {},
      series: [],
      marks: [
        ["set", 6, 3.5, "rate 2 → 1", "◆", 11],
        ["try", 7, 4.5, "", "↺", 5, { arm: [0, "a"] }],
        ["nan", 8, 5.5, "", "×", 0],
      ],
      marked: 5,
    },
    buffers(),
  );
  assert.deepEqual(
    store.marks.map(({ event, step, place }) => [event, step, place]),
    [
      ["save", 5, 5],
      ["restore", 9, 5],
      ["set", 6, 6],
      ["try", 7, 7],
      ["nan", 8, 8],
    ],
  );
  assert.deepEqual(
    store.marks.map(({ glyph, rank, arm }) => [glyph, rank, arm]),
    [
      ["●", 18, undefined],
      ["◀", 4, undefined],
      ["◆", 11, undefined],
      ["↺", 5, [0, "a"]],
      ["×", 0, undefined],
    ],
  );
});

test("the kernel tells which marks are abandoned, by their numbers", () => {
  const { store } = filled();
  const rows = (...steps) => steps.map((step) => ["set", step, 0, ""]);
  const told = () => store.marks.filter(({ abandoned }) => abandoned).map(({ step }) => step);
  const marks = rows(1, 2, 3);
  store.receive(
    { t: "snap", seq: 1, status: {}, series: [], marks, marked: 8, abandoned: [[6, 7]] },
    buffers(),
  );
  assert.deepEqual(told(), [2]);
  const update = (seq, more) =>
    store.receive({ t: "pts", seq, status: {}, series: [], ...more }, buffers());
  update(2, { marks: rows(4, 5), marked: 10 });
  assert.deepEqual(told(), [2]);
  update(3, {
    abandoned: [
      [0, 6],
      [8, 10],
    ],
  });
  assert.deepEqual([told(), store.markedAt], [[1, 4, 5], 3]);
});

test("of too many marks the newest are kept", () => {
  const { store } = filled();
  for (let seq = 8; seq < 40; seq++) {
    store.receive(
      {
        t: "pts",
        seq,
        status: {},
        series: [],
        marks: Array.from({ length: 40 }, (_, i) => ["checkpoint", 40 * seq + i, 0, ""]),
        marked: 40 * (seq - 7),
      },
      buffers(),
    );
  }
  assert.deepEqual([store.marks.length, store.marks.at(-1).step], [1000, 1599]);
});

test("the kernel tells what can be done about a mark, and what has changed of that", () => {
  const { store } = filled();
  const restore = (reason) => ["Restore step 1", "restore", { checkpoint: "ckpt-1" }, reason];
  const told = () => store.marks.map(({ actions }) => actions);
  const marks = [
    ["save", 1, 0, ""],
    ["pause", 2, 0, ""],
  ];
  const actions = [
    [8, [restore(null)]],
    [7, [restore(null)]],
  ];
  store.receive(
    { t: "snap", seq: 1, status: {}, series: [], marks, marked: 9, abandoned: [], actions },
    buffers(),
  );
  assert.deepEqual(told(), [[restore(null)], [restore(null)]]);
  const update = (seq, more) =>
    store.receive({ t: "pts", seq, status: {}, series: [], ...more }, buffers());
  update(2, { actions: [[7, [restore("it is gone")]]] });
  assert.deepEqual(told(), [[restore("it is gone")], [restore(null)]]);
  assert.equal(store.markedAt, 1, "the charts need not be drawn again");
  update(3, { marks: [["set", 3, 0, ""]], marked: 10, actions: [[8, []]] });
  assert.deepEqual(told(), [[restore("it is gone")], [], []]);
});

test("a mark keeps its number and its actions when the kernel has dropped others before the next", () => {
  const { store } = filled();
  const restore = (step) => [`Restore step ${step}`, "restore", { checkpoint: step }, null];
  const row = (step) => ["save", step, 0, ""];
  const told = () => store.marks.map(({ number, actions }) => [number, actions[0]?.[0]]);
  store.receive(
    {
      t: "snap",
      seq: 1,
      status: {},
      series: [],
      marks: [row(1), row(2)],
      marked: 2,
      abandoned: [[0, 1]],
      actions: [0, 1].map((number) => [number, [restore(number + 1)]]),
    },
    buffers(),
  );
  const update = (seq, more) =>
    store.receive({ t: "pts", seq, status: {}, series: [], ...more }, buffers());
  update(2, { marks: [row(9)], marked: 9, actions: [[8, [restore(9)]]] });
  assert.deepEqual(told(), [
    [0, "Restore step 1"],
    [1, "Restore step 2"],
    [8, "Restore step 9"],
  ]);
  assert.deepEqual(
    store.marks.map(({ abandoned }) => abandoned),
    [true, false, false],
  );
});

test("actions of marks that are held no more are forgotten", () => {
  const { store } = filled();
  for (let seq = 8; seq < 40; seq++) {
    const marks = Array.from({ length: 40 }, (_, i) => ["save", 40 * seq + i, 0, ""]);
    const marked = 40 * (seq - 7);
    const actions = marks.map((_, i) => [marked - 40 + i, [["Restore", "restore", {}, null]]]);
    store.receive({ t: "pts", seq, status: {}, series: [], marks, marked, actions }, buffers());
  }
  assert.deepEqual([store.marks.length, store.actions.size], [1000, 1000]);
});
