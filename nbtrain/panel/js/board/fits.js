// The runs of a board as a reader counts them: Keras writes a fit as two runs, `train` and
// `validation`, which are one run with two curves. The kernel says which are. Uses no DOM.

/** @import { Fit } from "../protocol.d.ts" */

const LONGEST = 90; // characters of a name; a longer one is cut in its middle

/**
 * For each leader its fit, a Map in the order of the runs. A fit of which some runs are missing has the
 * name of the first that is there.
 * @param {string[]} runs
 * @param {Map<string, Fit>} fitOf for each run of a fit of several runs that fit
 */
export function fitsOf(runs, fitOf) {
  const there = new Set(runs);
  /** @type {Map<string, Fit>} */
  const found = new Map();
  for (const run of runs) {
    const fit = fitOf.get(run) ?? { lead: run, name: run, runs: [run] };
    const some = fit.runs.filter((each) => there.has(each));
    const isWhole = some.length === fit.runs.length;
    if (!found.has(fit.lead))
      found.set(fit.lead, isWhole ? fit : { ...fit, name: some[0], runs: some });
  }
  return found;
}

/**
 * A name in the room of two lines: of a very long one both ends.
 * @param {string} name
 */
export function brief(name) {
  if (name.length <= LONGEST) return name;
  const half = Math.floor(LONGEST / 2);
  return `${name.slice(0, half)}…${name.slice(-half)}`;
}
