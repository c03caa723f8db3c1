// Groups of tags, filters by name, and the look of a run's line. Uses no DOM.

import { getOrMake } from "../shared/collections.js";

/** @import { Fit, Tags } from "../protocol.d.ts" */

/**
 * The look of a run's line.
 * @typedef {object} Look
 * @property {string} colour
 * @property {number[]} dash
 * @property {number} [alpha] opacity from 0 to 1
 */

/**
 * Returns whether the name of a run or a tag matches.
 * @typedef {(name: string) => boolean} NameTest
 */

/** The dash of a validation, which has the colour of its training. */
const VALIDATION = [5, 3];
/** @type {number[][]} */
const DASHES = [[], [10, 4], [2, 3], [10, 3, 2, 3], [18, 4]];

/**
 * Groups tags by the part before their first slash, as [{name, tags}]; tags without one come
 * first.
 * @param {string[]} tags
 */
export function groups(tags) {
  /** @type {Map<string, string[]>} */
  const found = new Map([["", []]]);
  for (const tag of tags) {
    const end = tag.indexOf("/");
    const name = end > 0 ? tag.slice(0, end) : "";
    getOrMake(found, name, () => []).push(tag);
  }
  return [...found].filter(([, of]) => of.length).map(([name, of]) => ({ name, tags: of }));
}

/**
 * Returns the cards of pinned tags in the order of the pins, and the other cards by tag.
 * @template Key
 * @param {Map<string, Key[]>} found
 * @param {string[]} pins
 */
export function splitPinned(found, pins) {
  const others = new Map(found);
  /** @type {Key[]} */
  const pinned = [];
  for (const tag of pins) {
    pinned.push(...(others.get(tag) ?? []));
    others.delete(tag);
  }
  return { pinned, others };
}

/**
 * Maps each tag to the runs that have it. panel/board/index.py describes tags, sets and of.
 * @param {Tags} tags
 * @param {string[]} runs
 */
export function runsByTag({ tags, sets, of }, runs) {
  const named = sets.map((set) => set.map((run) => runs[run]));
  return new Map(tags.map((tag, i) => [tag, named[of[i]]]));
}

/**
 * The runs without scalars; none if no run has any.
 * @param {Pick<Tags, "sets"> & {runs: string[]}} index
 */
export function runsWithoutScalars({ sets, runs }) {
  const curved = new Set(sets.flat());
  return new Set(curved.size ? runs.filter((_, i) => !curved.has(i)) : []);
}

/**
 * A test of names by a regular expression. If it is invalid, every name passes.
 * @param {string} text
 * @returns {{matches: NameTest, error: string | null, pattern?: RegExp}}
 */
export function filter(text) {
  try {
    const pattern = new RegExp(text, "i");
    return { matches: (name) => pattern.test(name), error: null, pattern };
  } catch (error) {
    return { matches: () => true, error: error instanceof Error ? error.message : String(error) };
  }
}

/**
 * Numbers fits by what a regular expression finds in their names: its groups, or all of its match. Omits
 * fits without a match; all if the expression is invalid. Returns the numbers by leader.
 * @param {string} text
 * @param {Iterable<Pick<Fit, "lead" | "name">>} fits
 */
export function numbersBy(text, fits) {
  const { pattern } = filter(text);
  /** @type {Map<string, number>} */
  const found = new Map(); // by what was found
  /** @type {Map<string, number>} */
  const numbers = new Map();
  for (const { lead, name } of fits) {
    const [match, ...parts] = pattern?.exec(name) ?? [];
    if (match === undefined) continue;
    const key = JSON.stringify(parts.length ? parts : match);
    numbers.set(
      lead,
      getOrMake(found, key, () => found.size),
    );
  }
  return numbers;
}

/**
 * The look of the n-th run: dashes are used once each colour has been used.
 * @param {number} n
 * @param {string[]} colours
 * @param {boolean} [validates] whether it is the validation of a fit
 * @returns {Look}
 */
export function style(n, colours, validates = false) {
  const dash = dashOf(Math.floor(n / colours.length));
  return { colour: colours[n % colours.length], dash: validates ? VALIDATION : dash };
}

/**
 * The dash of the n-th of several lines of one colour.
 * @param {number} n
 */
export function dashOf(n) {
  return DASHES[n % DASHES.length];
}
