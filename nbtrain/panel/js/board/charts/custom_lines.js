// The lines of a chart of several tags. Uses no DOM.

/** @import { LayoutChart } from "../../protocol.d.ts" */
/** @import { RunCurve } from "./overlay.js" */

/**
 * The tag and the run of a line in a chart of several tags.
 * @typedef {{tag: string, run: string}} LineOf
 */

/**
 * The label of a line: the tag, the run, or both, as needed to distinguish the lines.
 * @param {string} tag
 * @param {string} title of its run
 * @param {{tags: number, runs: number}} many
 */
function labelOf(tag, title, { tags, runs }) {
  if (tags > 1) return runs > 1 ? `${tag} · ${title}` : tag;
  return title;
}

/**
 * The curves of all tags for one chart, each with its label in place of its run, and with its tag
 * and run in `of`. found: the curves of each tag; titleOf: returns the name of a run.
 * @param {Map<string, RunCurve[]>} found
 * @param {(run: string) => string} titleOf
 */
export function labelled(found, titleOf) {
  const lines = [...found].flatMap(([tag, curves]) => curves.map((curve) => ({ tag, curve })));
  const many = { tags: found.size, runs: new Set(lines.map(({ curve }) => curve.run)).size };
  return lines.map(({ tag, curve }) => {
    const of = { tag, run: curve.run };
    return { ...curve, run: labelOf(tag, titleOf(curve.run), many), of };
  });
}

/**
 * Returns {found, problems}: the curves of a margin chart as `labelled` takes them, each with its
 * bounds, and the problems in words. A run that lacks one of the three has no line. titleOf: returns
 * the name of a run.
 * @param {NonNullable<LayoutChart["series"]>} series
 * @param {Map<string, RunCurve[]>} found
 * @param {(run: string) => string} titleOf
 */
export function margins(series, found, titleOf) {
  /** @type {Map<string, RunCurve[]>} */
  const values = new Map();
  /** @type {string[]} */
  const problems = [];
  for (const { value, lower, upper } of series) {
    /** @type {RunCurve[]} */
    const curves = [];
    for (const curve of found.get(value) ?? []) {
      const [low, high] = [lower, upper].map((tag) =>
        found.get(tag)?.find(({ run }) => run === curve.run),
      );
      if (!low || !high) continue;
      if (same(curve.x, low.x) && same(curve.x, high.x))
        curves.push({ ...curve, lo: edge(low), hi: edge(high), margin: true });
      else
        problems.push(
          `In ${titleOf(curve.run)} the steps of ${value}, ${lower} and ${upper} do not match.`,
        );
    }
    values.set(value, curves);
  }
  return { found: values, problems };
}

/**
 * The values of a bound; those that are not finite leave a gap in the band.
 * @param {RunCurve} curve
 */
function edge({ mean }) {
  return mean.map((y) => (Number.isFinite(y) ? y : NaN));
}

/**
 * @param {number[]} one
 * @param {number[]} other
 */
function same(one, other) {
  return one.length === other.length && one.every((x, i) => x === other[i]);
}
