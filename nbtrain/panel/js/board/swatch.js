// A sample of a line, or of the two lines of a fit.

import { svg } from "./svg.js";

/** @import { Look } from "./tags.js" */

/** @param {Look[]} looks */
export function swatch(...looks) {
  const lines = looks.map(({ colour, dash, alpha = 1 }, i) => {
    const y = ((i + 0.5) * 8) / looks.length;
    return svg("line", {
      x1: 0,
      y1: y,
      x2: 26,
      y2: y,
      stroke: colour,
      "stroke-opacity": alpha,
      "stroke-width": looks.length > 1 ? 2 : 2.5,
      "stroke-dasharray": dash.join(" "),
    });
  });
  return svg("svg", {
    width: 26,
    height: 8,
    "aria-hidden": "true",
    class: "nbt-swatch",
    children: lines,
  });
}
