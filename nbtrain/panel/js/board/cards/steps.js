// Where a slider stands among the steps of a history that grows. Knows no page.

/** @import { Choice } from "../../types.d.ts" */

/**
 * The place that shows what the user chose, of `choiceOf`: this very place while it has the step
 * (several may have it), else the last that is not beyond the step; of a null choice, the newest.
 * @param {number[]} steps
 * @param {Choice | null} chosen
 */
export function placeOf(steps, chosen) {
  if (chosen === null) return steps.length - 1;
  if (steps[chosen.place] === chosen.step) return chosen.place;
  const after = steps.findIndex((step) => step > chosen.step);
  return after < 0 ? steps.length - 1 : Math.max(0, after - 1);
}

/**
 * What a place among the steps means to the user: {place, step}, or, at the end, the newest.
 * @param {number[]} steps
 * @param {number} place
 * @returns {Choice | null}
 */
export function choiceOf(steps, place) {
  return place >= steps.length - 1 ? null : { place, step: steps[place] };
}
