// Histograms as lines that a chart can draw. Knows no page.

const REACH = 4; // rows that the highest ridge rises over
const LEAST = 0.12; // of the whole, for few rows

// {data, bases, height}: uPlot's columns, where each ridge stands, and how high the highest
// rises. One behind another, a ridge stands at its step and rises towards lower ones.
export function ridges({ edges, counts, steps, overlay }) {
  const most = Math.max(1e-300, ...counts.map((row) => row.reduce((a, b) => Math.max(a, b), 0)));
  const span = steps.at(-1) - steps[0] || 1;
  const height = overlay ? most : span * Math.max(LEAST, Math.min(1, REACH / steps.length));
  const bases = steps.map((step) => (overlay ? 0 : step));
  const line = (row, i) => {
    const heights = Array.from(row, (count) => (overlay ? count : bases[i] - (count / most) * height));
    return [...heights, heights.at(-1)]; // a stepped line ends at the last edge
  };
  return { overlay, data: [Array.from(edges), ...counts.map(line)], bases, height };
}

// The bin that holds a value; of one beyond them all, the nearest.
export function binAt(edges, value) {
  const after = edges.findIndex((edge) => edge > value);
  return Math.min(edges.length - 2, Math.max(0, (after < 0 ? edges.length : after) - 1));
}

// Where of some places the nearest to one is.
export function nearest(places, to) {
  let best = 0;
  places.forEach((place, i) => Math.abs(place - to) < Math.abs(places[best] - to) && (best = i));
  return best;
}
