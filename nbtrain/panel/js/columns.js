// The curves of one tag as uPlot's columns: one x, and four columns a segment.
// In a column null is a gap, and undefined says that this x belongs to another segment.

export const PER_SEGMENT = 4; // mean, hi, lo, abandoned mean

export function columns(curves, { log = false } = {}) {
  const xs = [...new Set(curves.flatMap((curve) => curve.x))].sort((a, b) => a - b);
  const place = new Map(xs.map((x, i) => [x, i]));
  const shown = (y) => (Number.isFinite(y) && (!log || y > 0) ? y : null);
  const data = [xs];
  for (const curve of curves) {
    const [mean, hi, lo, gone] = Array.from({ length: PER_SEGMENT }, () => new Array(xs.length));
    curve.x.forEach((x, i) => {
      const at = place.get(x);
      const abandoned = curve.until !== null && x > curve.until;
      if (abandoned) {
        gone[at] = shown(curve.mean[i]);
        return;
      }
      mean[at] = shown(curve.mean[i]);
      hi[at] = mean[at] === null ? null : shown(curve.hi[i]);
      lo[at] = mean[at] === null ? null : shown(curve.lo[i]);
      // The abandoned tail begins where the kept part ends.
      if (curve.until !== null && curve.x[i + 1] > curve.until) gone[at] = mean[at];
    });
    data.push(mean, hi, lo, gone);
  }
  return data;
}

// Where a curve is not finite: [{x, sign}], sign "×" for NaN, "▲" and "▼" for the infinities.
export function marks(curves) {
  return curves.flatMap((curve) =>
    curve.x.flatMap((x, i) => {
      const [lo, hi] = [curve.lo[i], curve.hi[i]];
      if (Number.isNaN(curve.mean[i]) && !(hi === Infinity || lo === -Infinity)) return [{ x, sign: "×" }];
      if (hi === Infinity) return [{ x, sign: "▲" }];
      return lo === -Infinity ? [{ x, sign: "▼" }] : [];
    }),
  );
}

// What there is at a step: the bucket of the newest segment that covers it, or null.
export function bucketAt(curves, x) {
  for (const curve of [...curves].reverse()) {
    let i = curve.x.length - 1;
    while (i >= 0 && curve.x[i] > x) i--;
    if (i >= 0) {
      const { stride } = curve;
      return { x: curve.x[i], stride, mean: curve.mean[i], lo: curve.lo[i], hi: curve.hi[i] };
    }
  }
  return null;
}

export function number(value) {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e5)) return value.toExponential(2);
  return String(Number(value.toPrecision(4)));
}

export function describe(bucket) {
  if (!bucket) return "";
  const step = `step ${bucket.x.toLocaleString("en")}`;
  if (Number.isNaN(bucket.lo)) return `${step}  NaN`;
  const range = bucket.stride > 1 ? `  (${number(bucket.lo)} to ${number(bucket.hi)})` : "";
  return `${step}  ${number(bucket.mean)}${range}`;
}
