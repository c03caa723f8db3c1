// The values of a chart in words, and as a table. Abandoned tails are left out if there is more.

import { bucketUpTo, divided } from "../shared/buckets.js";
import { union } from "../shared/columns.js";
import { el } from "../shared/dom.js";
import { more, number } from "../shared/format.js";

/** @import { Bucket, Curve } from "../shared/buckets.js" */

/**
 * A line of a chart; last: its newest value.
 * @typedef {{tag: string, curves: Curve[], last?: string}} Line
 */

const MOST = 200; // rows for each line
const ALL = { min: -Infinity, max: Infinity };

/**
 * Describes each line: its newest, lowest and highest value, and its steps.
 * @param {Line[]} lines
 */
export function summary(lines) {
  return lines.map(summed).join("; ");
}

/** @param {Line} line */
function summed({ tag, curves, last }) {
  const used = usedOf(curves);
  const bucket = bucketUpTo(used, Infinity, { abandoned: true });
  if (!bucket) return `${tag}: no values`;
  const [low] = ends(used.flatMap(({ lo }) => lo));
  const [, high] = ends(used.flatMap(({ hi }) => hi));
  const [from, to] = ends(used.flatMap(({ x, steps = x }) => steps)).map(whole);
  return `${tag}: newest ${last ?? number(bucket.mean)}, lowest ${number(low)}, highest ${number(high)}, steps ${from} to ${to}`;
}

/**
 * A table of the values between two places, at most MOST of each line.
 * @param {Line[]} lines
 * @param {{min: number, max: number} | null} zoom the places; null for all
 */
export function table(lines, zoom) {
  const { min, max } = zoom ?? ALL;
  const found = lines.map(({ tag, curves }) => {
    const used = usedOf(curves);
    const places = [...union(used)].filter((x) => min <= x && x <= max);
    const every = Math.ceil(places.length / MOST);
    const shown = places.filter((_, i) => (places.length - 1 - i) % every === 0); // with the newest
    const buckets = shown.map((x) => bucketUpTo(used, x, { abandoned: true }));
    const ranges = buckets.some((bucket) => bucket && bucket.lo < bucket.hi);
    return { tag, ranges, all: places.length, at: new Map(shown.map((x, i) => [x, buckets[i]])) };
  });
  const rows = [...new Set(found.flatMap(({ at }) => [...at.keys()]))].sort((a, b) => a - b);
  const heads = found.flatMap(({ tag, ranges }) => [tag, ...(ranges ? ["lowest", "highest"] : [])]);
  const left = found
    .filter(({ at, all }) => at.size < all)
    .map(({ tag, at, all }) => `${whole(at.size)} of ${whole(all)} points of ${tag}`);
  const words = left.length ? `${left.join(", ")}: zoom in to see the others` : "all points";
  return el("table", {
    children: [
      el("caption", { text: words }),
      el("thead", { children: [line("step", heads, "col")] }),
      el("tbody", {
        children: rows.map((x) => {
          const buckets = found.map(({ at }) => at.get(x));
          const step = buckets.find(Boolean)?.step ?? NaN;
          return line(
            whole(step),
            found.flatMap(({ ranges }, i) => cells(buckets[i], ranges)),
          );
        }),
      }),
    ],
  });
}

/**
 * @param {string} head
 * @param {string[]} texts
 * @param {"col"} [scope] of the others, if they are headings
 */
function line(head, texts, scope) {
  const others = texts.map((text) => (scope ? el("th", { scope, text }) : el("td", { text })));
  return el("tr", { children: [el("th", { scope: scope ?? "row", text: head }), ...others] });
}

/**
 * @param {Bucket | null | undefined} bucket
 * @param {boolean} ranges whether there are cells for the lowest and the highest value
 */
function cells(bucket, ranges) {
  if (!bucket) return ranges ? ["", "", ""] : [""];
  const { mean, also, lo, hi } = bucket;
  return [`${number(mean)}${more(also, " ")}`, ...(ranges ? [number(lo), number(hi)] : [])];
}

/** @param {Curve[]} curves */
function usedOf(curves) {
  const { kept, tails } = divided(curves);
  return kept.length ? kept : tails;
}

/**
 * The lowest and the highest of the finite values; NaN if there are none.
 * @param {number[]} values
 */
function ends(values) {
  let [low, high] = [NaN, NaN];
  for (const value of values.filter(Number.isFinite)) {
    if (!(value >= low)) low = value;
    if (!(value <= high)) high = value;
  }
  return [low, high];
}

/** @param {number} n */
const whole = (n) => n.toLocaleString("en");
