// uPlot's series and bands for a chart of several runs.

import uPlot from "uplot";
import { isolated } from "../../shared/columns.js";
import { EDGE, FAINT, TAIL } from "../../shared/plot.js";
import { HYPERPARAMETERS } from "../../shared/side_tags.js";

/** @import { ChartLine } from "./overlay.js" */
/** @import { ChartBoard } from "./overlay_chart.js" */

const MANY = 100; // lines from which on all are one pixel wide: thousands of wider ones take seconds to draw
const HIDDEN = { show: false };

/**
 * The series of a tag's chart; the first one is the steps.
 * @param {ChartLine[]} lines
 * @param {string} tag
 * @param {ChartBoard} board
 * @returns {uPlot.Series[]}
 */
export function seriesOf(lines, tag, board) {
  const smooth = board.options.smooth > 0;
  const width = lines.length > MANY ? 1 : smooth ? 1.9 : 1.6;
  const auto = lines.every(({ kind }) => kind === "tail"); // tails set the scale only if no other curve does
  const series = lines.map(({ kind, run }) => {
    if (kind === "hi" || kind === "lo") return EDGE;
    const { colour, dash, alpha = 1 } = board.styleOf(run);
    const steps = tag.startsWith(HYPERPARAMETERS) && !(smooth && kind === "line");
    const how = steps ? { paths: uPlot.paths.stepped?.({ align: 1 }) } : {};
    if (kind === "tail") return { ...how, ...TAIL, auto, stroke: () => board.paint().gone };
    if (kind === "raw") return { ...how, stroke: colour + FAINT, width: 1, points: HIDDEN };
    /** @type {uPlot.Series.Points} */
    const alone = { show: true, filter: (u, i) => isolated(u.data[i]), size: 5, fill: colour };
    return { ...how, stroke: colour, width, dash, alpha, points: alone };
  });
  return [{}, ...series];
}

/**
 * The bands between the lines, a fifth opaque.
 * @param {ChartLine[]} lines
 * @param {ChartBoard} board
 * @returns {uPlot.Band[]}
 */
export function bandsOf(lines, board) {
  return lines.flatMap(({ kind, run }, i) =>
    kind === "hi" ? [{ series: [i + 1, i + 2], fill: () => `${board.styleOf(run).colour}33` }] : [],
  );
}
