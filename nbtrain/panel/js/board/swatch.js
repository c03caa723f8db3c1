// A sample of a line, or of the two lines of a fit.

/** @import { Look } from "./tags.js" */

const SVG = "http://www.w3.org/2000/svg";

/** @param {Look[]} looks */
export function swatch(...looks) {
  const svg = document.createElementNS(SVG, "svg");
  /** @type {(node: SVGElement, values: Record<string, string | number>) => void} */
  const put = (node, values) =>
    Object.entries(values).forEach(([name, value]) => node.setAttribute(name, String(value)));
  put(svg, { width: 26, height: 8, "aria-hidden": "true", class: "nbt-swatch" });
  looks.forEach(({ colour, dash, alpha = 1 }, i) => {
    const line = document.createElementNS(SVG, "line");
    const y = ((i + 0.5) * 8) / looks.length;
    put(line, {
      x1: 0,
      y1: y,
      x2: 26,
      y2: y,
      stroke: colour,
      "stroke-opacity": alpha,
      "stroke-width": looks.length > 1 ? 2 : 2.5,
      "stroke-dasharray": dash.join(" "),
    });
    svg.append(line);
  });
  return svg;
}
