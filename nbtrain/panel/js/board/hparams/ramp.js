// Colours from a low value to a high one. Uses no DOM.

const STEPS = 32; // the number of different colours; lines of one colour are drawn together

/**
 * The colour of a place from 0 to 1 among colours like #1a6fb0.
 * @param {string[]} stops
 * @param {number} place
 */
export function colourAt(stops, place) {
  const at = (stepAt(place) / (STEPS - 1)) * (stops.length - 1);
  const i = Math.min(stops.length - 2, Math.floor(at));
  const [low, high] = [stops[i], stops[i + 1]].map(channels);
  const mixed = low.map((value, c) => Math.round(value + (high[c] - value) * (at - i)));
  return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

/** @param {number} place */
function stepAt(place) {
  return Math.min(STEPS - 1, Math.max(0, Math.round(place * (STEPS - 1))));
}

/** @param {string} colour */
function channels(colour) {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}
