// How the lines of a chart look: uPlot's series and bands, abandoned tails first.

import uPlot from "uplot";
import { isolated } from "../shared/columns.js";
import { EDGE, FAINT, TAIL } from "../shared/plot.js";

/** @import { Column } from "../shared/columns.js" */
/** @import { Paint } from "../shared/theme.js" */
/** @import { TagLine } from "./store.js" */

const APART = 12; // pixels from which, on average, the points of a validation are seen as such
const HIDDEN = { show: false };

/**
 * tails: of each tail the place of its arm, or -1; auto: whether the scale is theirs; smooth: whether
 * lines are smoothed.
 * @typedef {{tails: number[], auto: boolean, smooth: boolean}} Drawn
 */

/**
 * The colour of a line, as the theme stands.
 * @param {TagLine} line
 * @param {Paint} paint
 */
function colourOf({ validates }, { colours }) {
  return colours[Number(validates)];
}

/**
 * The colour of an arm of a trial: none of those of the lines.
 * @param {number} arm its place
 * @param {Paint} paint
 */
export function colourOfArm(arm, { colours }) {
  const own = colours.slice(2);
  return own[arm % own.length];
}

/**
 * The steps, the tails, and of each line its highest, its lowest, its mean and its smoothed mean.
 * @param {TagLine[]} lines
 * @param {Drawn} drawn
 * @param {() => Paint} paint
 * @returns {uPlot.Series[]}
 */
export function seriesOf(lines, { tails, auto, smooth }, paint) {
  const gone = tails.map((arm) => ({
    ...TAIL,
    auto,
    stroke: () => (arm < 0 ? paint().gone : colourOfArm(arm, paint())),
  }));
  const drawn = lines.flatMap((line) => {
    const colour = () => colourOf(line, paint());
    /** @type {uPlot.Series.Points.Show} */
    const show = (u, i) => {
      const column = /** @type {Column} */ (u.data[i]);
      const count = column.filter((y) => y != null).length;
      // The page has no room for it, and so no widths, while JupyterLab changes its theme.
      return line.validates && count * APART <= u.bbox.width / uPlot.pxRatio;
    };
    /** @type {uPlot.Series.Points.Filter} */
    const filter = (u, i, shown) => (shown ? null : isolated(/** @type {Column} */ (u.data[i])));
    const points = { show, filter, size: 6, fill: colour };
    const alone = { stroke: colour, width: 1.6, points };
    if (!smooth) return [EDGE, EDGE, alone];
    const raw = { stroke: () => colour() + FAINT, width: 1, points };
    return [EDGE, EDGE, raw, { stroke: colour, width: 1.9, points: HIDDEN }];
  });
  return [{}, ...gone, ...drawn];
}

/**
 * The bands from the highest to the lowest of each line, a fifth opaque; none around smoothed lines.
 * @param {TagLine[]} lines
 * @param {Drawn} drawn
 * @param {() => Paint} paint
 * @returns {uPlot.Band[]}
 */
export function bandsOf(lines, { tails, smooth }, paint) {
  if (smooth) return [];
  return lines.map((line, i) => ({
    series: [tails.length + 3 * i + 1, tails.length + 3 * i + 2],
    fill: () => `${colourOf(line, paint())}33`,
  }));
}
