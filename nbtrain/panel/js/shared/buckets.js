// The buckets of the curves of one tag: which count, and what there is to say about them at a step.

/** @import { Bucket, Curve, Unseen, UnseenBucket } from "../types.d.ts" */

/**
 * The curves that still count, and the tails that a restore abandoned; newest last.
 * @param {Curve[]} curves
 */
export function divided(curves) {
  const found = curves.filter(({ x }) => x.length);
  return {
    kept: found.filter(({ abandoned }) => !abandoned),
    tails: found.filter(({ abandoned }) => abandoned),
  };
}

/**
 * Whether nothing of these curves counts any more.
 * @param {Curve[]} curves
 */
export function isAbandoned(curves) {
  const { kept, tails } = divided(curves);
  return tails.length > 0 && !kept.length;
}

/**
 * The buckets that no line can show: [{x, kind, abandoned, several}]; several: whether a bucket holds
 * more than one value.
 * @param {Curve[]} curves
 * @param {{log?: boolean}} [how]
 */
export function marks(curves, { log = false } = {}) {
  const { kept, tails } = divided(curves);
  /** @type {UnseenBucket[]} */
  const found = [];
  for (const curve of [...tails, ...kept]) {
    for (const [i, x] of curve.x.entries()) {
      const kind = kindOf(curve, i, log);
      if (kind) found.push({ x, kind, abandoned: curve.abandoned, several: curve.stride > 1 });
    }
  }
  return found;
}

/**
 * The bucket to speak of at a place: of what still counts where it reaches, else the nearest.
 * @param {Curve[]} curves
 * @param {number} place
 */
export function bucketAt(curves, place) {
  const { kept, tails } = divided(curves);
  /** @type {{curve: Curve, i: number, distance: number} | null} */
  let best = null;
  for (const curve of [...kept.reverse(), ...tails.reverse()]) {
    const i = nearest(curve.x, place);
    const distance = Math.abs(curve.x[i] - place);
    const within = !curve.abandoned && curve.x[0] <= place && place <= curve.x.at(-1);
    if (within || !best || distance < best.distance) best = { curve, i, distance };
    if (within) break;
  }
  return best && bucket(best);
}

/**
 * The latest bucket up to a place: of what still counts or, beside a tail, of whatever came.
 * @param {Curve[]} curves
 * @param {number} place
 * @param {{abandoned?: boolean}} [how]
 */
export function bucketUpTo(curves, place, { abandoned = false } = {}) {
  const { kept, tails } = divided(curves);
  let best = null;
  for (const curve of abandoned ? [...kept, ...tails] : kept) {
    const i = countUpTo(curve.x, place) - 1;
    if (i >= 0 && !(best && best.curve.x[best.i] > curve.x[i])) best = { curve, i };
  }
  return best && bucket(best);
}

/**
 * @param {{curve: Curve, i: number}} place
 * @returns {Bucket}
 */
function bucket({ curve, i }) {
  const { x, steps = x, wall, mean, lo, hi, abandoned } = curve;
  const kind = kindOf(curve, i);
  const at = { x: x[i], step: steps[i], wall: wall?.[i] };
  return { ...at, mean: mean[i], lo: lo[i], hi: hi[i], kind, abandoned };
}

/**
 * @param {{mean: ArrayLike<number>, lo: ArrayLike<number>, hi: ArrayLike<number>}} curve
 * @param {number} i
 * @param {boolean} [log]
 * @returns {Unseen | null}
 */
export function kindOf({ mean, lo, hi }, i, log = false) {
  if (hi[i] === Infinity) return "∞";
  if (lo[i] === -Infinity) return "−∞";
  if (Number.isNaN(mean[i])) return "NaN";
  return log && mean[i] <= 0 ? "≤ 0" : null;
}

/**
 * The best value of what counts, {value, from, to}: the steps between which it is, the same if known.
 * @param {Curve[]} curves
 * @param {{higher: boolean}} how whether it is the highest
 */
export function best(curves, { higher }) {
  const { kept } = divided(curves);
  let found = null;
  for (const { x, lo, hi, stride } of kept) {
    const values = higher ? hi : lo;
    for (let i = 0; i < x.length; i++) {
      const value = values[i];
      if (
        !Number.isFinite(value) ||
        (found && !(higher ? value > found.value : value < found.value))
      )
        continue;
      found = { value, from: x[i], to: stride > 1 && i + 1 < x.length ? x[i + 1] - 1 : x[i] };
    }
  }
  return found;
}

/**
 * @param {ArrayLike<number>} sorted
 * @param {number} value
 */
export function countUpTo(sorted, value) {
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (sorted[middle] <= value) from = middle + 1;
    else to = middle;
  }
  return from;
}

/**
 * @param {ArrayLike<number>} sorted
 * @param {number} value
 */
export function nearest(sorted, value) {
  const right = countUpTo(sorted, value);
  if (right === 0 || right === sorted.length) return Math.max(0, right - 1);
  return value - sorted[right - 1] <= sorted[right] - value ? right - 1 : right;
}
