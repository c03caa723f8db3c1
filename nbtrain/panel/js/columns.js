// The curves of one tag as uPlot's columns, and what there is to say about them at a step.
// In a column null is a gap, and undefined says that there is nothing at this step.

// What still counts of each curve, and the tails that a restore abandoned; newest last.
// Of a stretch: {curve, from, to, abandoned}, `to` being the bucket after its last.
export function stretches(curves) {
  const kept = [];
  const tails = [];
  for (const curve of curves) {
    const n = curve.x.length;
    const cut = curve.until === null ? n : countUpTo(curve.x, curve.until);
    if (cut > 0) kept.push({ curve, from: 0, to: cut, abandoned: false });
    if (cut < n) tails.push({ curve, from: cut, to: n, abandoned: true });
  }
  return { kept, tails };
}

// Whether nothing of these curves counts any more.
export const isAbandoned = (curves) => curves.every(({ x, until }) => until !== null && countUpTo(x, until) === 0);

// [steps, a column for each tail ..., highest, lowest, mean]: what still counts is one line,
// drawn last, and so above the tails.
export function columns(curves, { log = false, x = union(curves) } = {}) {
  const { kept, tails } = stretches(curves);
  const floor = log ? lowestPositive(kept) : -Infinity;
  const shown = (y) => (Number.isFinite(y) && (!log || y > 0) ? y : null);
  const mean = ({ mean }, i) => shown(mean[i]);
  const edge = (y, curve, i) => (mean(curve, i) === null ? null : shown(Math.max(y, floor)));
  return [
    x,
    ...tails.map((tail) => column(x, [{ ...tail, from: Math.max(0, tail.from - 1) }], mean)),
    column(x, kept, (curve, i) => edge(curve.hi[i], curve, i)),
    column(x, kept, (curve, i) => edge(curve.lo[i], curve, i)),
    column(x, kept, mean),
  ];
}

// [steps, the tails of all lines ..., highest, lowest, mean of each line ...]; lines: the curves of
// each.
export function together(lines, { log = false } = {}) {
  const x = union(lines.flat());
  const each = lines.map((curves) => columns(curves, { log, x }));
  return [x, ...each.flatMap((data) => data.slice(1, -3)), ...each.flatMap((data) => data.slice(-3))];
}

// The buckets that no line can show: [{x, kind, abandoned}].
export function marks(curves, { log = false } = {}) {
  const { kept, tails } = stretches(curves);
  const found = [];
  for (const { curve, from, to, abandoned } of [...tails, ...kept]) {
    for (let i = from; i < to; i++) {
      const kind = kindOf(curve, i, log);
      if (kind) found.push({ x: curve.x[i], kind, abandoned });
    }
  }
  return found;
}

// The bucket to speak of at a step: of what still counts where it reaches, else the nearest.
export function bucketAt(curves, step) {
  const { kept, tails } = stretches(curves);
  let best = null;
  for (const stretch of [...kept.reverse(), ...tails.reverse()]) {
    const { curve, from, to, abandoned } = stretch;
    const i = nearest(curve.x, from, to, step);
    const distance = Math.abs(curve.x[i] - step);
    const within = !abandoned && curve.x[from] <= step && step <= curve.x[to - 1];
    if (within || !best || distance < best.distance) best = { curve, i, abandoned, distance };
    if (within) break;
  }
  return best && bucket(best);
}

// The latest bucket up to a step: of what still counts or, beside a tail, of whatever came.
export function bucketUpTo(curves, step, { abandoned = false } = {}) {
  const { kept, tails } = stretches(curves);
  let best = null;
  for (const { curve, from, to, ...stretch } of abandoned ? [...kept, ...tails] : kept) {
    const i = countUpTo(curve.x, step, from, to) - 1;
    if (i >= from && !(best && best.curve.x[best.i] > curve.x[i])) best = { curve, i, ...stretch };
  }
  return best && bucket(best);
}

function bucket({ curve, i, abandoned }) {
  return { x: curve.x[i], mean: curve.mean[i], lo: curve.lo[i], hi: curve.hi[i], kind: kindOf(curve, i), abandoned };
}

export function kindOf({ mean, lo, hi }, i, log = false) {
  if (hi[i] === Infinity) return "∞";
  if (lo[i] === -Infinity) return "−∞";
  if (Number.isNaN(mean[i])) return "NaN";
  return log && mean[i] <= 0 ? "≤ 0" : null;
}

export function union(curves) {
  const all = Float64Array.from(curves.flatMap(({ x }) => x)).sort();
  return all.filter((x, i) => i === 0 || x !== all[i - 1]);
}

export function column(x, parts, value) {
  const result = new Array(x.length);
  for (const { curve, from, to } of parts) {
    for (let i = from, at = countUpTo(x, curve.x[from]) - 1; i < to; i++) {
      while (x[at] < curve.x[i]) at++;
      result[at] = value(curve, i);
    }
  }
  return result;
}

function lowestPositive(parts) {
  let lowest = Infinity;
  for (const { curve, from, to } of parts) {
    for (let i = from; i < to; i++) {
      if (curve.mean[i] > 0) lowest = Math.min(lowest, curve.lo[i] > 0 ? curve.lo[i] : curve.mean[i]);
    }
  }
  return lowest;
}

function countUpTo(sorted, value, from = 0, to = sorted.length) {
  while (from < to) {
    const middle = (from + to) >> 1;
    if (sorted[middle] <= value) from = middle + 1;
    else to = middle;
  }
  return from;
}

export function nearest(sorted, from, to, value) {
  const right = countUpTo(sorted, value, from, to);
  if (right === from) return from;
  if (right === to) return to - 1;
  return value - sorted[right - 1] <= sorted[right] - value ? right - 1 : right;
}

// The float64 of a message's buffer: a view that need not be aligned, or an ArrayBuffer.
export function floats(buffer) {
  const view = ArrayBuffer.isView(buffer) ? buffer : new Uint8Array(buffer ?? 0);
  return new Float64Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
}
