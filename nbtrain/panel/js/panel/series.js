// How the lines of a chart look: uPlot's series and bands, abandoned tails first.

import uPlot from "uplot";

/** @import { Column, Paint, TagLine } from "../types.d.ts" */

const APART = 12; // pixels from which, on average, the points of a validation are seen as such
const HIDDEN = { show: false };

/**
 * The colour of a line, as the theme stands.
 * @param {TagLine} line
 * @param {Paint} paint
 */
export function colourOf({ validates }, { colours }) {
  return colours[Number(validates)];
}

/**
 * The steps, the tails, and of each line its highest, its lowest and its mean.
 * @param {TagLine[]} lines
 * @param {{tails: number, auto: boolean}} abandoned how many tails there are, and whether the scale is theirs
 * @param {() => Paint} paint
 * @returns {uPlot.Series[]}
 */
export function seriesOf(lines, { tails, auto }, paint) {
  const edge = { stroke: "transparent", width: 0, points: HIDDEN };
  const tail = { auto, stroke: () => paint().gone, width: 1.25, dash: [4, 3], points: HIDDEN };
  const drawn = lines.flatMap((line) => {
    const colour = () => colourOf(line, paint());
    /** @type {uPlot.Series.Points.Show} */
    const show = (u, i) => {
      const column = /** @type {Column} */ (u.data[i]);
      const count = column.reduce((n, y) => n + Number(y != null), 0);
      // The page has no room for it, and so no widths, while JupyterLab changes its theme.
      return count === 1 || (line.validates && count * APART <= u.bbox.width / uPlot.pxRatio);
    };
    return [edge, edge, { stroke: colour, width: 1.6, points: { show, size: 6, fill: colour } }];
  });
  return [{}, ...new Array(tails).fill(tail), ...drawn];
}

/**
 * The bands from the highest to the lowest of each line, a fifth opaque.
 * @param {TagLine[]} lines
 * @param {number} tails
 * @param {() => Paint} paint
 * @returns {uPlot.Band[]}
 */
export function bandsOf(lines, tails, paint) {
  return lines.map((line, i) => ({
    series: [tails + 3 * i + 1, tails + 3 * i + 2],
    fill: () => `${colourOf(line, paint())}33`,
  }));
}
