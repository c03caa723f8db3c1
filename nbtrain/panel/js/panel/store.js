// The received data of one run: status, curves and marks. Uses no DOM.

import { countsIn, divided } from "../shared/buckets.js";
import { aligned, floats } from "../shared/columns.js";
import { HYPERPARAMETERS } from "../shared/side_tags.js";
import { get, lastOf } from "../shared/collections.js";

/** @import { Action, FromPanel, MarkRow, Snapshot, Status, Update } from "../protocol.d.ts" */
/** @import { Curve, UnseenCounts } from "../shared/buckets.js" */
/** @import { Bytes } from "../shared/connection.js" */
/** @import { Mark } from "./marks.js" */

/**
 * A line of a chart of the panel.
 * @typedef {object} TagLine
 * @property {string} tag
 * @property {string[]} tags
 *   all tags of the line: a validation may have several, such as that of each epoch
 * @property {boolean} validates true for a validation
 */

const MOST_MARKS = 1000; // as many as the kernel holds

export class Store {
  /**
   * ask: requests a new snapshot; called when a message was missed.
   * @param {() => void} ask
   */
  constructor(ask) {
    this.ask = ask;
    this.seq = -1;
    this.ready = false;
    /** @type {Partial<Status>} */
    this.status = {};
    /** @type {Curve[]} */
    this.curves = [];
    /** @type {Mark[]} */
    this.marks = [];
    this.marked = 0; // the number of all marks up to the newest known one
    /** @type {[number, number][]} */
    this.abandoned = [];
    /** @type {Map<number, Action[]>} */
    this.actions = new Map(); // by the number of the mark
    this.markedAt = -1; // the message that last changed a mark
  }

  /**
   * Receives a message; returns whether there is something new to show.
   * @param {FromPanel} content
   * @param {Bytes[]} [buffers]
   */
  receive(content, buffers = []) {
    if (content.t === "snap") return this.#snapshot(content, buffers);
    if (content.t === "pts") return this.#update(content, buffers);
    return false;
  }

  // The tags with a chart: all except hyperparameters. Curves of earlier segments come first, although
  // they may arrive last, so that the charts keep their order.
  get tags() {
    const inOrder = [...this.curves].sort((one, other) => one.segment - other.segment);
    return [...new Set(inOrder.map((curve) => curve.tag))].filter(
      (tag) => !tag.startsWith(HYPERPARAMETERS),
    );
  }

  // The lines of each chart: first that of the training, whose tag names the chart, then one line for
  // all its validations.
  get charts() {
    const { tags, status } = this;
    const { validations = {} } = status;
    /** @type {Map<string, TagLine[]>} */
    const found = new Map();
    for (const tag of tags) found.set(tag, []);
    for (const tag of tags) {
      const validated = validations[tag];
      const chart = found.has(validated) ? validated : tag;
      const lines = get(found, chart);
      const line = { tag, tags: [tag], validates: Object.hasOwn(validations, tag) };
      const same = tag === chart ? null : lines.find((each) => each.tag !== chart);
      if (same) same.tags.push(tag);
      else lines[tag === chart ? "unshift" : "push"](line);
    }
    return [...found.values()].filter((lines) => lines.length);
  }

  /**
   * The curves of a tag, or of several.
   * @param {...string} tags
   */
  of(...tags) {
    return this.curves.filter((curve) => tags.includes(curve.tag));
  }

  /**
   * The message that last changed a curve of these tags.
   * @param {...string} tags
   */
  changedAt(...tags) {
    return Math.max(...this.of(...tags).map((curve) => curve.seq));
  }

  /**
   * The tag with the newest value, of the curves that count if there are any.
   * @param {...string} tags
   */
  newest(...tags) {
    const { kept, tails } = divided(this.of(...tags));
    const found = kept.length ? kept : tails;
    return found.reduce((best, each) => (lastOf(each.x) > lastOf(best.x) ? each : best), found[0])
      ?.tag;
  }

  /**
   * @param {Snapshot} content
   * @param {Bytes[]} buffers
   */
  #snapshot(content, buffers) {
    const read = reader(buffers, content);
    this.curves = content.series.map(({ n, ...about }) => {
      const curve = emptyCurve({ ...about, seq: content.seq });
      read(curve, n);
      return curve;
    });
    this.status = content.status;
    this.marks = numbered(content);
    this.actions.clear();
    this.#number(content);
    this.seq = this.markedAt = content.seq;
    this.ready = true;
    return true;
  }

  /**
   * @param {Update} content
   * @param {Bytes[]} buffers
   */
  #update(content, buffers) {
    if (!this.ready || content.seq <= this.seq) return false;
    if (content.seq !== this.seq + 1) {
      this.ready = false;
      this.ask();
      return false;
    }
    const { seq, marks, marked = this.marked } = content;
    this.seq = seq;
    const { last, ...status } = content.status;
    Object.assign(this.status, status);
    if (last) this.status.last = { ...this.status.last, ...last };
    const read = reader(buffers, content);
    for (const [id, stride, from, n, ...about] of content.series) {
      if (about.length) {
        const [tag, segment, abandoned] = about;
        this.curves[id] ??= emptyCurve({ tag, segment, abandoned, stride, seq });
      }
      const curve = this.curves[id];
      curve.seq = seq;
      while (curve.stride < stride) fold(curve);
      for (const column of columnsOf(curve)) column.length = from;
      read(curve, n);
    }
    if (marks) this.marks = [...this.marks, ...numbered({ marks, marked })].slice(-MOST_MARKS);
    if (marks || content.abandoned || content.actions) this.#number(content);
    if (marks || content.abandoned) this.markedAt = seq;
    return true;
  }

  /**
   * Sets the actions of the marks, and which marks are abandoned.
   * @param {Partial<Pick<Snapshot, "marked" | "abandoned" | "actions">>} content
   */
  #number({ marked = this.marked, abandoned = this.abandoned, actions = [] }) {
    Object.assign(this, { marked, abandoned });
    for (const [number, its] of actions) this.actions.set(number, its);
    const first = this.marks[0]?.number ?? marked;
    for (const number of this.actions.keys()) if (number < first) this.actions.delete(number);
    /** @param {number} number */
    const isAbandoned = (number) => abandoned.some(([from, end]) => from <= number && number < end);
    this.marks = this.marks.map((each) => ({
      ...each,
      abandoned: isAbandoned(each.number),
      actions: this.actions.get(each.number) ?? [],
    }));
  }
}

/**
 * A curve without points.
 * @param {Omit<Curve, "x" | "wall" | "mean" | "lo" | "hi" | "unseen">} about
 * @returns {Curve}
 */
function emptyCurve(about) {
  return { ...about, x: [], wall: [], mean: [], lo: [], hi: [], unseen: [] };
}

/** @param {Curve} curve */
const columnsOf = ({ x, wall, mean, lo, hi, unseen }) => [x, wall, mean, lo, hi, unseen];

/**
 * The marks of a message, numbered: the kernel may have dropped some between two messages.
 * @param {Pick<Snapshot, "marks" | "marked">} content
 * @returns {Mark[]}
 */
function numbered({ marks, marked }) {
  return marks.map((row, i) => mark(row, marked - marks.length + i));
}

/**
 * The mark of a row; `place` is the step from which the run continued.
 * @param {MarkRow} row
 * @param {number} number
 * @returns {Mark}
 */
function mark([event, step, wall, text, glyph, rank, { to: place = step, ...more } = {}], number) {
  const about = { number, event, step, wall, text, glyph, rank };
  return { ...about, ...more, place, abandoned: false, actions: [] };
}

/**
 * Joins neighbouring buckets, exactly as in the kernel.
 * @param {Curve} curve
 */
export function fold(curve) {
  const { x, wall, mean, lo, hi, unseen, stride } = curve;
  const n = Math.ceil(x.length / 2);
  for (let i = 0; i < n; i++) {
    const [left, right] = [2 * i, Math.min(2 * i + 1, x.length - 1)];
    const [one, other] = [left, right].map((at) => stride - sum(unseen[at])); // finite values
    x[i] = x[left];
    wall[i] = wall[left];
    mean[i] = joined(mean, left, right, (a, b) => (one * a + other * b) / (one + other));
    lo[i] = joined(lo, left, right, Math.min);
    hi[i] = joined(hi, left, right, Math.max);
    unseen[i] = left === right ? unseen[left] : added(unseen[left], unseen[right]);
  }
  for (const column of columnsOf(curve)) column.length = n;
  curve.stride *= 2;
}

/**
 * The numbers of two buckets joined, or those of the one that has finite values.
 * @param {number[]} column
 * @param {number} left
 * @param {number} right
 * @param {(one: number, other: number) => number} how
 */
function joined(column, left, right, how) {
  const [one, other] = [column[left], column[right]];
  return Number.isNaN(one) ? other : Number.isNaN(other) ? one : how(one, other);
}

/** @param {UnseenCounts} counts */
const sum = (counts) => (counts ?? []).reduce((all, count) => all + count, 0);

/**
 * @param {UnseenCounts} one
 * @param {UnseenCounts} other
 * @returns {UnseenCounts}
 */
function added(one, other) {
  if (!one || !other) return one ?? other;
  return [one[0] + other[0], one[1] + other[1], one[2] + other[2]];
}

/**
 * Reads series after series: steps from the first buffer, mean, lo and hi from the second, from the
 * third the wall times since `origin`, and from the fourth what is not finite. A series without steps
 * and times of its own has those of the one before.
 * @param {Bytes[]} buffers
 * @param {Pick<Update, "origin" | "own">} content
 */
function reader([steps, values, times, others], { origin = 0, own }) {
  const x = floats(steps);
  const y = new Float32Array(aligned(values));
  const since = new Float32Array(aligned(times));
  const unseen = countsIn(new Uint32Array(aligned(others)));
  let [series, first, next, at] = [0, 0, 0, 0];
  /** @type {(curve: Curve, n: number) => void} */
  return (curve, n) => {
    if (own?.includes(series++) ?? true) [first, next] = [next, next + n];
    for (let i = first; i < first + n; i++, at++) {
      curve.x.push(x[i]);
      curve.wall.push(origin + since[i]);
      curve.mean.push(y[3 * at]);
      curve.lo.push(y[3 * at + 1]);
      curve.hi.push(y[3 * at + 2]);
      curve.unseen.push(unseen.get(at) ?? null);
    }
  };
}
