// The position of a slider among the steps of a history that grows. Knows no page.

/**
 * The meaning of a place among the steps for the reader.
 * @typedef {{place: number, step: number}} Choice
 */

/**
 * The index of the user's choice, as `choiceOf` returns it. Several indices may have the step:
 * the chosen one is kept while it has it, else the last one not beyond the step is taken. A choice
 * of null means the newest.
 * @param {number[]} steps
 * @param {Choice | null} chosen
 */
export function placeOf(steps, chosen) {
  if (chosen === null) return placeUpTo(steps, null);
  if (steps[chosen.place] === chosen.step) return chosen.place;
  return placeUpTo(steps, chosen.step);
}

/**
 * The index of the last step up to another, or of the first; null means the newest.
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
