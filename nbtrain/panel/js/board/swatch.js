// A sample of a line.

/** @import { Look } from "../types.d.ts" */

const SVG = "http://www.w3.org/2000/svg";

/** @param {Look} look */
export function swatch({ colour, dash }) {
  const svg = document.createElementNS(SVG, "svg");
  const line = document.createElementNS(SVG, "line");
  /** @type {(node: SVGElement, values: Record<string, string | number>) => void} */
  const put = (node, values) =>
    Object.entries(values).forEach(([name, value]) => node.setAttribute(name, String(value)));
  put(svg, { width: 26, height: 8, "aria-hidden": "true", class: "nbt-swatch" });
  put(line, {
    x1: 0,
    y1: 4,
    x2: 26,
    y2: 4,
    stroke: colour,
    "stroke-width": 2.5,
    "stroke-dasharray": dash.join(" "),
  });
  svg.append(line);
  return svg;
}
