// Draws one node, one scope or one edge.

import { fitted, nameOf, pathOf } from "./layout.js";
import { svg } from "../svg.js";

/** @import { GraphItem } from "../../protocol.d.ts" */
/** @import { Box, GraphLayout } from "./layout.js" */

const HEADER = 13; // pixels from the top of an open scope to the middle of its name
const CHARACTER = 7;

/**
 * @param {GraphItem} item
 * @param {Box} box
 */
export function drawnItem(item, { x, y, width, height }) {
  const { number, kind, open, op, count } = item;
  const scope = kind === "scope";
  const shape = {
    x: x - width / 2,
    y: y - height / 2,
    width,
    height,
    rx: scope ? 6 : height / 2,
  };
  const words = item.label + (op && op !== item.label ? `: ${op}` : "");
  const place = open ? { x: shape.x + 8, y: shape.y + HEADER } : { x, y };
  const name = open
    ? fitted(item.label, Math.max(6, Math.floor(width / CHARACTER) - 5))
    : nameOf(item);
  const label = svg("text", { ...place, text: scope ? `${name} ` : name });
  const nodes = count.toLocaleString("en");
  if (scope) label.append(svg("tspan", { dx: 2, text: nodes }));
  const state = scope ? { "aria-expanded": String(open) } : {};
  const held = scope ? `, ${nodes} ${count === 1 ? "node" : "nodes"} in this scope` : "";
  return svg("g", {
    class: "nbt-item",
    role: "button",
    tabindex: -1,
    "data-number": number,
    "data-kind": kind,
    "data-name": item.label,
    "aria-label": kind === "rest" ? name : `${words}${held}`,
    ...state,
    children: [svg("title", { text: `${words}${held}` }), svg("rect", shape), label],
  });
}

/** @param {GraphLayout["edges"][number]} edge */
export function drawnEdge({ source, target, count, control, shape, text, points, at }) {
  const { line, head } = pathOf(points);
  const thick = 1 + Math.min(4, Math.log2(Math.max(1, count)) / 1.5);
  const title = [
    count && `${count} ${count === 1 ? "edge" : "edges"}`,
    control && `${control} control ${control === 1 ? "dependency" : "dependencies"}`,
    shape,
  ];
  const parts = [
    svg("path", { d: line, "stroke-width": thick.toFixed(1) }),
    svg("path", { d: head }),
    svg("title", { text: title.filter(Boolean).join(", ") }),
  ];
  if (text && at) parts.push(svg("text", { x: at.x, y: at.y, text }));
  return svg("g", {
    class: "nbt-edge",
    "data-source": source,
    "data-target": target,
    ...(count ? {} : { "data-control": "" }),
    children: parts,
  });
}
