// The runs of each session of a hyperparameter search. Uses no DOM.

import { get } from "../../shared/collections.js";

/**
 * Maps each session to the runs in its folder; a run belongs to the innermost session folder that contains it.
 * @param {string[]} sessions
 * @param {string[]} runs
 */
export function runsOf(sessions, runs) {
  /** @type {Map<string, string[]>} */
  const found = new Map();
  for (const session of sessions) found.set(session, []);
  for (const run of runs) {
    const session = holder(found, run);
    if (session !== undefined) get(found, session).push(run);
  }
  return found;
}

/**
 * @param {Map<string, string[]>} sessions
 * @param {string} run
 */
function holder(sessions, run) {
  for (let path = run; path; path = path.slice(0, Math.max(0, path.lastIndexOf("/"))))
    if (sessions.has(path)) return path;
  return sessions.has(".") ? "." : undefined;
}
