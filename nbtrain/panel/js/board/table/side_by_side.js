// Fits side by side: a column has the results of a training and of its validation.
// Uses no DOM.

import { decoded } from "./cells.js";
import { decodeNumbers } from "../charts/overlay.js";
import { fitsOf } from "../fits.js";
import { get } from "../../shared/collections.js";

/** @import { Compare, Fit } from "../../protocol.d.ts" */
/** @import { Bytes } from "../../shared/connection.js" */
/** @import { Numbers } from "../charts/overlay.js" */
/** @import { Value } from "./cells.js" */

/**
 * Fits side by side; all lists have the order of the fits.
 * @typedef {object} Comparison
 * @property {Fit[]} fits
 * @property {Compare["about"]} about
 * @property {{name: string, values: Value[], same: boolean}[]} hparams
 * @property {{tag: string, higher: boolean | null, validates: boolean, numbers: Numbers[]}[]} scalars
 */

/** @type {Numbers} */
const NONE = {
  last: NaN,
  min: NaN,
  minStep: NaN,
  max: NaN,
  maxStep: NaN,
  points: 0,
};

/**
 * The answer to a `compare` message. A tag that only validations have has one row.
 * @param {Compare} content
 * @param {Bytes} buffer
 * @param {Map<string, Fit>} fitOf see fits.js
 * @returns {Comparison}
 */
export function sideBySide(content, buffer, fitOf) {
  const fits = [...fitsOf(content.runs, fitOf).values()];
  const places = new Map(content.runs.map((run, i) => [run, i]));
  const about = fits.map(({ runs }) => {
    const [first, ...rest] = runs.map((run) => content.about[get(places, run)]);
    return { ...first, secs: Math.max(first.secs, ...rest.map(({ secs }) => secs)) };
  });
  const hparams = content.hparams.map(({ name, values, same }) => ({
    name,
    same,
    values: fits.map((fit) => decoded(values[get(places, fit.runs[0])])),
  }));
  const scalars = decodeNumbers(content, buffer).flatMap(({ tag, higher, numbers }) =>
    [false, true].flatMap((validates) => {
      const of = fits.map((fit) => {
        const run = runOf(fit, validates);
        return run === undefined ? NONE : numbers[get(places, run)];
      });
      return of.some(({ points }) => points > 0) ? [{ tag, higher, validates, numbers: of }] : [];
    }),
  );
  return { fits, about, hparams, scalars };
}

/**
 * The training of a fit or its validation; undefined where it has none.
 * @param {Fit} fit
 * @param {boolean} validates
 */
function runOf({ lead, runs }, validates) {
  return runs.find((run) => (run !== lead) === validates);
}
