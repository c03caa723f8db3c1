// What has arrived of one run: its status and its curves. Knows no page.

/** @import { Action, FromPanel, MarkRow, Snapshot, Status, Update } from "../protocol.d.ts" */
/** @import { Bytes, Curve, Mark, TagLine } from "../types.d.ts" */

const MOST_MARKS = 1000; // as many as the kernel holds

export class Store {
  /**
   * ask: called when a message was missed and everything is needed again.
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
    this.marked = 0; // see #number
    /** @type {[number, number][]} */
    this.abandoned = [];
    /** @type {Map<number, Action[]>} */
    this.actions = new Map(); // by the number of the mark
    this.markedAt = -1; // the message that last changed a mark
  }

  /**
   * Take a message; returns whether there is something new to show.
   * @param {FromPanel} content
   * @param {Bytes[]} [buffers]
   */
  receive(content, buffers) {
    if (content.t === "snap") return this.#snapshot(content, buffers);
    if (content.t === "pts") return this.#update(content, buffers);
    return false;
  }

  // Those that have a chart: a hyperparameter has a row. What was recalled has its place before the
  // others, though it came last: so the charts are in the order that they had.
  get tags() {
    const inOrder = [...this.curves].sort((one, other) => one.segment - other.segment);
    return [...new Set(inOrder.map((curve) => curve.tag))].filter(
      (tag) => !tag.startsWith("hyperparameters/"),
    );
  }

  // The charts: the lines of each, first what is trained, which gives it its name.
  get charts() {
    const { tags, status } = this;
    const { validations = {} } = status;
    /** @type {Map<string, TagLine[]>} */
    const found = new Map();
    for (const tag of tags) found.set(tag, []);
    for (const tag of tags) {
      const validated = validations[tag];
      const chart = found.has(validated) ? validated : tag;
      const line = { tag, validates: Object.hasOwn(validations, tag) };
      found.get(chart)[tag === chart ? "unshift" : "push"](line);
    }
    return [...found.values()].filter((lines) => lines.length);
  }

  /** @param {string} tag */
  of(tag) {
    return this.curves.filter((curve) => curve.tag === tag);
  }

  /**
   * The message that last changed a curve of this tag.
   * @param {string} tag
   */
  changedAt(tag) {
    return Math.max(...this.of(tag).map((curve) => curve.seq));
  }

  /**
   * @param {Snapshot} content
   * @param {Bytes[]} [buffers]
   */
  #snapshot(content, buffers) {
    const read = reader(buffers);
    this.curves = content.series.map(({ n, ...about }) => {
      const curve = begun({ ...about, seq: content.seq });
      read(curve, n);
      return curve;
    });
    this.status = content.status;
    this.marks = content.marks.map(mark);
    this.actions.clear();
    this.#number(content);
    this.seq = this.markedAt = content.seq;
    this.ready = true;
    return true;
  }

  /**
   * @param {Update} content
   * @param {Bytes[]} [buffers]
   */
  #update(content, buffers) {
    if (!this.ready || content.seq <= this.seq) return false;
    if (content.seq !== this.seq + 1) {
      this.ready = false;
      this.ask();
      return false;
    }
    this.seq = content.seq;
    const { last, ...status } = content.status;
    Object.assign(this.status, status);
    if (last) this.status.last = { ...this.status.last, ...last };
    const read = reader(buffers);
    for (const [id, stride, from, n, tag, segment, abandoned] of content.series) {
      const { seq } = content;
      const curve = (this.curves[id] ??= begun({ tag, segment, abandoned, stride, seq }));
      curve.seq = seq;
      while (curve.stride < stride) fold(curve);
      for (const column of [curve.x, curve.mean, curve.lo, curve.hi]) column.length = from;
      read(curve, n);
    }
    if (content.marks) this.marks = [...this.marks, ...content.marks.map(mark)].slice(-MOST_MARKS);
    if (content.marks || content.abandoned || content.actions) this.#number(content);
    if (content.marks || content.abandoned) this.markedAt = content.seq;
    return true;
  }

  /**
   * Tells the marks which of them are abandoned, and what can be done about each.
   * @param {Partial<Pick<Snapshot, "marked" | "abandoned" | "actions">>} told
   */
  #number({ marked = this.marked, abandoned = this.abandoned, actions = [] }) {
    Object.assign(this, { marked, abandoned });
    for (const [number, its] of actions) this.actions.set(number, its);
    const first = marked - this.marks.length;
    /** @param {number} number */
    const left = (number) => abandoned.some(([from, end]) => from <= number && number < end);
    this.marks = this.marks.map((each, i) => ({
      ...each,
      abandoned: left(first + i),
      actions: this.actions.get(first + i) ?? [],
    }));
  }
}

/**
 * A curve without points.
 * @param {Omit<Curve, "x" | "mean" | "lo" | "hi">} about
 * @returns {Curve}
 */
function begun(about) {
  return { ...about, x: [], mean: [], lo: [], hi: [] };
}

/**
 * `place` is where it stands on the axis: where the run went on.
 * @param {MarkRow} row
 * @returns {Mark}
 */
function mark([event, step, wall, text, { to = step, kept } = {}]) {
  return { event, step, wall, text, kept, place: to, abandoned: false, actions: [] };
}

/**
 * Neighbouring buckets become one, exactly as the kernel folds its own.
 * @param {Curve} curve
 */
export function fold(curve) {
  const n = Math.ceil(curve.x.length / 2);
  for (let i = 0; i < n; i++) {
    const [left, right] = [2 * i, Math.min(2 * i + 1, curve.x.length - 1)];
    curve.x[i] = curve.x[left];
    curve.mean[i] = (curve.mean[left] + curve.mean[right]) / 2;
    curve.lo[i] = Math.min(curve.lo[left], curve.lo[right]);
    curve.hi[i] = Math.max(curve.hi[left], curve.hi[right]);
  }
  for (const column of [curve.x, curve.mean, curve.lo, curve.hi]) column.length = n;
  curve.stride *= 2;
}

/**
 * Reads bucket after bucket: steps from the first buffer, mean, lo and hi from the second.
 * @param {Bytes[] | undefined} buffers
 */
function reader([steps, values]) {
  const x = new Float64Array(aligned(steps));
  const y = new Float32Array(aligned(values));
  let at = 0;
  /** @type {(curve: Curve, n: number) => void} */
  return (curve, n) => {
    for (const end = at + n; at < end; at++) {
      curve.x.push(x[at]);
      curve.mean.push(y[3 * at]);
      curve.lo.push(y[3 * at + 1]);
      curve.hi.push(y[3 * at + 2]);
    }
  };
}

/**
 * A copy that begins at byte 0: a message's buffer may begin anywhere.
 * @param {Bytes | undefined} buffer
 */
function aligned(buffer) {
  const view = ArrayBuffer.isView(buffer)
    ? new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength)
    : new Uint8Array(buffer ?? new ArrayBuffer(0));
  return view.slice().buffer;
}
