// The fits of a board: Keras writes a fit as two runs, `train` and `validation`, which the board shows as
// one run with two curves. The kernel decides which runs are one fit. Uses no DOM.

/** @import { Fit } from "../protocol.d.ts" */

const LONGEST = 90; // characters of a name; a longer one is cut in its middle

/**
 * Maps each leader to its fit, in the order of the runs. An incomplete fit has the name of its first
 * existing run.
 * @param {string[]} runs
 * @param {Map<string, Fit>} fitOf the fit of each run that shares a fit with others
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
 * Shortens a very long name to both its ends.
 * @param {string} name
 */
export function brief(name) {
  if (name.length <= LONGEST) return name;
  const half = Math.floor(LONGEST / 2);
  return `${name.slice(0, half)}…${name.slice(-half)}`;
}
