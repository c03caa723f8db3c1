// Where a slider stands among the steps of a history that grows. Knows no page.

// The place that shows a step the user chose: the step itself, else the last before it; of a
// null choice, the newest.
export function placeOf(steps, chosen) {
  if (chosen === null) return steps.length - 1;
  const after = steps.findIndex((step) => step > chosen);
  return after < 0 ? steps.length - 1 : Math.max(0, after - 1);
}

// What a place among the steps means to the user: the step there, or, at the end, the newest.
export function choiceOf(steps, place) {
  return place >= steps.length - 1 ? null : steps[place];
}
