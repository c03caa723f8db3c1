// The runs of a board as a reader counts them: Keras writes a fit as two runs, `train` and
// `validation`, which are one run with two curves. Knows no page.

/** @import { Fit } from "../types.d.ts" */

const LONGEST = 90; // characters of a name; a longer one is cut in its middle

/**
 * The run that another one belongs to: a validation belongs to its training.
 * @param {string} run
 * @param {Set<string>} runs
 */
export function leader(run, runs) {
  const lead = run.replace(/(^|\/)validation$/, "$1train");
  return runs.has(lead) ? lead : run;
}

/**
 * For each leader its fit, a Map in the order of the runs.
 * @param {string[]} runs
 * @param {Set<string>} [there] all runs of the board, where these are some of them
 */
export function fitsOf(runs, there = new Set(runs)) {
  /** @type {Map<string, string[]>} */
  const members = new Map();
  for (const run of runs) {
    const lead = leader(run, there);
    members.set(lead, [...(members.get(lead) ?? []), run].sort());
  }
  /** @type {Map<string, Fit>} */
  const found = new Map();
  for (const [lead, of] of members) found.set(lead, { lead, name: nameOf(of, there), runs: of });
  return found;
}

/**
 * The folders that all names have in common, with the last slash; "" for a single name.
 * @param {string[]} names
 */
export function folderOf(names) {
  if (names.length < 2) return "";
  let folder = names[0].slice(0, names[0].lastIndexOf("/") + 1);
  for (const name of names)
    while (!name.startsWith(folder))
      folder = folder.slice(0, folder.lastIndexOf("/", folder.length - 2) + 1);
  return folder;
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

/**
 * The name of a fit is that of the folder of its two runs, if no other run has it.
 * @param {string[]} runs
 * @param {Set<string>} there
 */
function nameOf(runs, there) {
  if (runs.length < 2) return runs[0];
  const folder = runs[0].slice(0, runs[0].lastIndexOf("/") + 1);
  const name = folder.slice(0, -1);
  return name && !there.has(name) ? name : `${folder}train + validation`;
}
