// The position of a slider among the steps of a growing history. Uses no DOM.

/**
 * A step that the user has chosen, and its place among the steps.
 * @typedef {{place: number, step: number}} Choice
 */

/**
 * The index of the user's choice, as `choiceOf` returns it. Several indices may have the same step: the
 * chosen index is kept while it has the step; otherwise the last index up to the step is used. null
 * means the newest.
 * @param {number[]} steps
 * @param {Choice | null} chosen
 */
export function placeOf(steps, chosen) {
  if (chosen === null) return placeUpTo(steps, null);
  if (steps[chosen.place] === chosen.step) return chosen.place;
  return placeUpTo(steps, chosen.step);
}

/**
 * The index of the last step up to a given one, or 0; null means the newest.
 * @param {number[]} steps
 * @param {number | null} step
 */
export function placeUpTo(steps, step) {
  const after = step === null ? -1 : steps.findIndex((each) => each > step);
  return after < 0 ? steps.length - 1 : Math.max(0, after - 1);
}

/**
 * Returns the user's choice for an index, {place, step}; null, the newest, at the end.
 * @param {number[]} steps
 * @param {number} place
 * @returns {Choice | null}
 */
export function choiceOf(steps, place) {
  return place >= steps.length - 1 ? null : { place, step: steps[place] };
}
