// The look of a chart's lines: uPlot's series and bands, abandoned tails first.

import uPlot from "uplot";
import { isolated } from "../shared/columns.js";
import { EDGE, FAINT, TAIL } from "../shared/plot.js";

/** @import { Column } from "../shared/columns.js" */
/** @import { Paint } from "../shared/theme.js" */
/** @import { TagLine } from "./store.js" */

const APART = 12; // average pixels between the points of a validation from which they are drawn
const HIDDEN = { show: false };

/**
 * tails: the place of each tail's arm, or -1; auto: whether the tails set the scale; smooth: whether
 * lines are smoothed.
 * @typedef {{tails: number[], auto: boolean, smooth: boolean}} Drawn
 */

/**
 * The colour of a line in the current theme.
 * @param {TagLine} line
 * @param {Paint} paint
 */
function colourOf({ validates }, { colours }) {
  return colours[Number(validates)];
}

/**
 * The colour of an arm of a trial, different from those of the lines.
 * @param {number} arm its place
 * @param {Paint} paint
 */
export function colourOfArm(arm, { colours }) {
  const own = colours.slice(2);
  return own[arm % own.length];
}

/**
 * The series of a chart: the steps, the tails, and for each line the highest, lowest, mean and smoothed
 * mean.
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
      // While JupyterLab changes its theme, the hidden page has no widths.
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
