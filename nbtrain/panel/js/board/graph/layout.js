// Where the nodes of a graph stand, and how its edges run: by dagre, from top to bottom. Knows no
// page.

import { graphlib, layout } from "@dagrejs/dagre";

/** @import { Graph, GraphEdge, GraphItem } from "../../protocol.d.ts" */
/** @import { Box, GraphLayout, Point } from "../../types.d.ts" */

const HEIGHT = 26; // of a node
const CHARACTER = 6.6; // the width of one
const SMALL = 5.6; // of one beside an edge
const MOST = 24; // characters of a name
const MOST_BESIDE = 18; // of a shape

/**
 * A name that fits: its end tells it from others more often than its middle.
 * @param {string} text
 * @param {number} [most]
 */
export function fitted(text, most = MOST) {
  if (text.length <= most) return text;
  const end = Math.floor(most / 2);
  return `${text.slice(0, most - end - 1)}…${text.slice(-end)}`;
}

/**
 * What is written on an item.
 * @param {Pick<GraphItem, "label" | "kind" | "count">} item
 */
export function nameOf({ label, kind, count }) {
  if (kind === "rest") return `and ${count.toLocaleString("en")} more`;
  return fitted(label);
}

/**
 * What is written beside an edge: how many it stands for, or the shape of a single one.
 * @param {GraphEdge} edge
 */
export function textOf({ count, control, shape }) {
  if (count > 1) return `× ${count.toLocaleString("en")}`;
  if (!count && control > 1) return `× ${control.toLocaleString("en")}`;
  return fitted(shape, MOST_BESIDE);
}

/**
 * @param {Pick<Graph, "items" | "edges">} graph
 * @returns {GraphLayout}
 */
export function laidOut({ items, edges }) {
  const drawn = new graphlib.Graph({ compound: true });
  drawn.setGraph({ rankdir: "TB", nodesep: 18, edgesep: 10, ranksep: 44, marginx: 8, marginy: 8 });
  for (const item of items) {
    drawn.setNode(String(item.number), item.open ? {} : sizeOf(item));
    if (item.parent) drawn.setParent(String(item.number), String(item.parent));
  }
  const told = edges.map((edge) => ({ ...edge, text: textOf(edge) }));
  for (const { source, target, text, count } of told) {
    const width = text.length * SMALL;
    const size = text ? { width, height: 12 } : { width: 0, height: 0 };
    // Thick edges are short and straight. Dagre's ranks need whole weights.
    const weight = Math.min(8, 1 + Math.floor(Math.log2(count || 1)));
    drawn.setEdge(String(source), String(target), { ...size, labelpos: "c", weight });
  }
  layout(drawn);
  const { width, height } = drawn.graph();
  const boxes = new Map(items.map(({ number }) => [number, boxOf(drawn.node(String(number)))]));
  return { width, height, boxes, edges: told.map((edge) => ({ ...edge, ...runOf(drawn, edge) })) };
}

/**
 * A curve through points, and the head of an arrow at its end.
 * @param {Point[]} points
 */
export function pathOf(points) {
  if (points.length < 2) return { line: "", head: "" };
  const bends = points.slice(1, -1).map((point, i) => {
    const next = points[i + 2];
    return `Q${at(point)} ${at(middle(point, next))}`;
  });
  const line = `M${at(points[0])}L${at(middle(points[0], points[1]))}${bends.join("")}`;
  const [before, last] = points.slice(-2);
  return { line: `${line}L${at(last)}`, head: headOf(before, last) };
}

/** @param {GraphItem} item */
function sizeOf(item) {
  const text = nameOf(item).length + (item.kind === "scope" ? 3 + String(item.count).length : 0);
  return { width: Math.max(48, text * CHARACTER + 20), height: HEIGHT };
}

/**
 * @param {{x?: number, y?: number, width?: number, height?: number}} node
 * @returns {Box}
 */
function boxOf({ x = 0, y = 0, width = 0, height = 0 }) {
  return { x, y, width, height };
}

/**
 * @param {InstanceType<typeof graphlib.Graph>} drawn
 * @param {GraphEdge} edge
 */
function runOf(drawn, { source, target }) {
  /** @type {{points?: Point[], x?: number, y?: number}} */
  const { points = [], x, y } = drawn.edge(String(source), String(target));
  return { points, at: x === undefined ? null : { x, y } };
}

/**
 * @param {Point} from
 * @param {Point} to
 */
function headOf(from, to) {
  const angle = Math.atan2(to.y - from.y, to.x - from.x);
  const [left, right] = [angle + 2.7, angle - 2.7].map((turn) => ({
    x: to.x + 7 * Math.cos(turn),
    y: to.y + 7 * Math.sin(turn),
  }));
  return `M${at(to)}L${at(left)}L${at(right)}Z`;
}

/**
 * @param {Point} one
 * @param {Point} other
 */
function middle(one, other) {
  return { x: (one.x + other.x) / 2, y: (one.y + other.y) / 2 };
}

/** @param {Point} point */
function at({ x, y }) {
  return `${x.toFixed(1)},${y.toFixed(1)}`;
}
