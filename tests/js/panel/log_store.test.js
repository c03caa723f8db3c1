import assert from "node:assert/strict";
import { test } from "node:test";
import { filtered, LogStore, MOST } from "../../../nbtrain/panel/js/panel/log_store.js";

const row = (step, level = "INFO", source = "print", text = `line ${step}`) => [
  1.7e9,
  step,
  level,
  source,
  text,
];
const rows = (first, count) => Array.from({ length: count }, (_, i) => row(first + i));

function store() {
  const asked = [];
  const clock = { now: 1000 };
  const log = new LogStore(
    (have) => asked.push(have),
    () => clock.now,
  );
  return { log, asked, clock };
}

test("lines that are not here are asked for, those that are here are not", () => {
  const { log, asked } = store();
  assert.equal(log.want(0), false);
  assert.equal(log.want(3), true);
  log.receive({ first: 0, count: 3, rows: rows(0, 3) });
  assert.equal(log.want(3), false);
  assert.deepEqual(asked, [0]);
  assert.deepEqual(
    log.rows.map(([, step]) => step),
    [0, 1, 2],
  );
});

test("what comes within half a second is asked for at once", () => {
  const { log, asked, clock } = store();
  log.want(1);
  log.receive({ first: 0, count: 1, rows: rows(0, 1) });
  clock.now += 100;
  log.want(2);
  clock.now += 300;
  log.want(9);
  assert.deepEqual(asked, [0]);
  clock.now += 100;
  log.want(10);
  assert.deepEqual(asked, [0, 1]);
});

test("after a part of the lines the others are asked for at once", () => {
  const { log, asked } = store();
  log.want(5000);
  log.receive({ first: 0, count: 5000, rows: rows(0, 2500) });
  log.want(5000);
  assert.deepEqual(asked, [0, 2500]);
});

test("an answer that does not come is asked for again", () => {
  const { log, asked, clock } = store();
  log.want(1);
  clock.now += 1000;
  log.want(1);
  assert.deepEqual(asked, [0]);
  clock.now += 2000;
  log.want(1);
  assert.deepEqual(asked, [0, 0]);
});

test("an answer to another page of the same run adds no line twice", () => {
  const { log } = store();
  log.receive({ first: 0, count: 3, rows: rows(0, 3) });
  log.receive({ first: 1, count: 4, rows: rows(1, 3) });
  assert.deepEqual(
    log.rows.map(([, step]) => step),
    [0, 1, 2, 3],
  );
});

test("lines after a gap take the place of those before it", () => {
  const { log } = store();
  log.receive({ first: 0, count: 3, rows: rows(0, 3) });
  log.receive({ first: 10, count: 12, rows: rows(10, 2) });
  assert.deepEqual(
    log.rows.map(([, step]) => step),
    [10, 11],
  );
  assert.equal(log.have, 12);
});

test("the newest lines are kept", () => {
  const { log } = store();
  log.receive({ first: 0, count: MOST, rows: rows(0, MOST) });
  log.receive({ first: MOST, count: MOST + 5, rows: rows(MOST, 5) });
  assert.equal(log.rows.length, MOST);
  assert.equal(log.rows[0][1], 5);
});

test("the shorter log of another kernel is read from its beginning", () => {
  const { log, asked } = store();
  log.receive({ first: 0, count: 3, rows: rows(0, 3) });
  log.want(1);
  assert.deepEqual(asked, [0]);
  assert.deepEqual(log.rows, []);
});

test("lines are filtered by level, source, text in any case, and by their step", () => {
  const warned = row(7, "WARNING", "logging", "the Rate is high");
  const failed = row(8, "ERROR", "tensorflow", "no rate");
  const all = [row(1), warned, failed];
  const by = (filter) => filtered(all, { level: "DEBUG", source: "", text: "", ...filter });
  assert.equal(by({}), all);
  assert.deepEqual(by({ level: "WARNING" }), [warned, failed]);
  assert.deepEqual(by({ source: "logging" }), [warned]);
  assert.deepEqual(by({ text: "RATE" }), [warned, failed]);
  assert.deepEqual(by({ text: "8" }), [failed]);
});
