// The layout of a graph's nodes and edges, by dagre, from top to bottom. Uses no
// DOM.

import { graphlib, layout } from "@dagrejs/dagre";
import { get } from "../../shared/collections.js";
import { IN, levelsOf, OUT, bundleKey } from "./levels.js";

/** @import { Graph, GraphEdge, GraphItem } from "../../protocol.d.ts" */
/** @import { EdgePart, Level } from "./levels.js" */

/**
 * A position in a drawing, in its own pixels.
 * @typedef {{x: number, y: number}} Point
 */

/**
 * A box in a drawing: its centre and its size.
 * @typedef {Point & {width: number, height: number}} Box
 */

/**
 * A graph that is laid out.
 * @typedef {object} GraphLayout
 * @property {number} width
 * @property {number} height
 * @property {Map<number, Box>} boxes
 * @property {(GraphEdge & {text: string, points: Point[], at: Point | null})[]} edges
 */

/** @typedef {Partial<Box> & {points?: Point[], labelpos?: string, weight?: number}} Bundle */
/** @typedef {graphlib.Graph<Record<string, unknown>, Partial<Box>, Bundle>} Drawn */
/** @typedef {Map<number, {drawn: Drawn, bundles: Level["bundles"]} & Point>} Plans */

const HEIGHT = 26; // of a node
const CHARACTER = 6.6; // the width of one
const SMALL = 5.6; // the width of one beside an edge
const MOST = 24; // characters of a name
const MOST_BESIDE = 18; // of a shape
const HEADER = 18; // pixels of an open scope that its name takes

/**
 * Shortens a name in its middle: more often, the ends differ from those of other names.
 * @param {string} text
 * @param {number} [most]
 */
export function fitted(text, most = MOST) {
  if (text.length <= most) return text;
  const end = Math.floor(most / 2);
  return `${text.slice(0, most - end - 1)}…${text.slice(-end)}`;
}

/**
 * The words on an item.
 * @param {Pick<GraphItem, "label" | "kind" | "count">} item
 */
export function nameOf({ label, kind, count }) {
  if (kind === "rest") return `and ${count.toLocaleString("en")} more`;
  return fitted(label);
}

/**
 * The text beside an edge: the number of edges, or the shape of a single one.
 * @param {GraphEdge} edge
 */
export function textOf({ count, control, shape }) {
  if (count > 1) return `× ${count.toLocaleString("en")}`;
  if (!count && control > 1) return `× ${control.toLocaleString("en")}`;
  return fitted(shape, MOST_BESIDE);
}

/**
 * Lays out each open scope by itself, as in TensorBoard: one large layout would take seconds. An edge
 * leaves a scope at its lower end and enters it at its upper end. Edges from a node to itself are
 * omitted: dagre draws them as a line beside the node.
 * @param {Pick<Graph, "items" | "edges">} graph
 * @returns {GraphLayout}
 */
export function laidOut({ items, edges: all }) {
  const edges = all.filter(({ source, target }) => source !== target);
  const { levels, parts } = levelsOf({ items, edges });
  /** @type {Plans} */
  const plans = new Map();
  const { width, height } = plan(levels, 0, plans);
  /** @type {Map<number, Box>} */
  const boxes = new Map();
  put(plans, levels, { scope: 0, x: 0, y: 0 }, boxes);
  return { width, height, boxes, edges: edges.map((edge, i) => route(plans, edge, parts[i])) };
}

/**
 * Lays out a scope after the scopes inside it, and returns its size.
 * @param {Map<number, Level>} levels
 * @param {number} scope
 * @param {Plans} plans collects the layouts
 * @returns {{width: number, height: number}}
 */
function plan(levels, scope, plans) {
  const { items, bundles } = get(levels, scope);
  /** @type {Drawn} */
  const drawn = new graphlib.Graph();
  drawn.setGraph({ rankdir: "TB", nodesep: 18, edgesep: 10, ranksep: 40, marginx: 8, marginy: 8 });
  for (const item of items) {
    const inner = item.open ? plan(levels, item.number, plans) : { width: 0, height: HEIGHT };
    const width = Math.max(inner.width, widthOf(item));
    const height = inner.height + (item.open ? HEADER : 0);
    drawn.setNode(String(item.number), { width, height });
  }
  for (const bundle of bundles.values()) {
    const { from, to, edges } = bundle;
    const text = beside(bundle);
    const size = text ? { width: text.length * SMALL, height: 12 } : { width: 0, height: 0 };
    // Thick edges are short and straight. Dagre's ranks need whole weights.
    const count = edges.reduce((sum, edge) => sum + edge.count, 0);
    const weight = Math.min(8, 1 + Math.floor(Math.log2(count || 1)));
    drawn.setEdge(String(from), String(to), { ...size, labelpos: "c", weight });
  }
  addEnds(drawn);
  layout(drawn);
  plans.set(scope, { drawn, bundles, x: 0, y: 0 });
  return sizeOf(drawn);
}

/**
 * Places the upper end of a scope above its contents, and the lower end below.
 * @param {Drawn} drawn
 */
function addEnds(drawn) {
  const inner = drawn.nodes().filter((name) => name !== IN && name !== OUT);
  for (const end of [IN, OUT].filter((name) => drawn.hasNode(name))) {
    drawn.setNode(end, { width: 1, height: 1 });
    for (const name of inner) {
      const [from, to] = end === IN ? [end, name] : [name, end];
      if (!drawn.hasEdge(from, to)) drawn.setEdge(from, to, { width: 0, height: 0, weight: 0 });
    }
  }
}

/**
 * Collects the position of each item in the whole drawing.
 * @param {Plans} plans
 * @param {Map<number, Level>} levels
 * @param {{scope: number} & Point} at the origin of a scope
 * @param {Map<number, Box>} found
 */
function put(plans, levels, { scope, x, y }, found) {
  const { drawn } = Object.assign(get(plans, scope), { x, y });
  for (const { number, open } of get(levels, scope).items) {
    const box = boxOf(drawn.node(String(number)));
    const placed = { ...box, x: x + box.x, y: y + box.y };
    found.set(number, placed);
    if (!open) continue;
    const left = placed.x - sizeOf(get(plans, number).drawn).width / 2; // the name may be wider
    const top = placed.y - box.height / 2 + HEADER;
    put(plans, levels, { scope: number, x: left, y: top }, found);
  }
}

/**
 * @param {Plans} plans
 * @param {GraphEdge} edge
 * @param {EdgePart[]} parts
 * @returns {GraphLayout["edges"][number]}
 */
function route(plans, edge, parts) {
  let text = "";
  /** @type {Point | null} */
  let at = null;
  const points = parts.flatMap(({ scope, from, to }) => {
    const { drawn, bundles, ...origin } = get(plans, scope);
    const { points = [], x = 0, y = 0 } = drawn.edge(String(from), String(to));
    const words = beside(get(bundles, bundleKey(from, to)));
    if (words) [text, at] = [words, { x: origin.x + x, y: origin.y + y }];
    const bundle = points.map(({ x, y }) => ({ x, y }));
    if (plans.has(Number(from))) leave(bundle, boxOf(drawn.node(String(from))));
    if (plans.has(Number(to))) enter(bundle, boxOf(drawn.node(String(to))));
    return bundle.map((point) => ({ x: origin.x + point.x, y: origin.y + point.y }));
  });
  return { ...edge, text, points, at };
}

/**
 * Moves the start of a bundle to the lower side of an open scope. Dagre starts it at the side that
 * faces the middle.
 * @param {Point[]} bundle
 * @param {Box} box
 */
function leave(bundle, box) {
  const bottom = box.y + box.height / 2;
  if (bundle[1].y >= bottom) bundle[0] = { x: within(bundle[1].x, box), y: bottom };
}

/**
 * Moves the end of a bundle to the upper side of an open scope.
 * @param {Point[]} bundle
 * @param {Box} box
 */
function enter(bundle, box) {
  const top = box.y - box.height / 2;
  const before = bundle[bundle.length - 2];
  if (before.y <= top) bundle[bundle.length - 1] = { x: within(before.x, box), y: top };
}

/**
 * @param {number} x
 * @param {Box} box
 */
function within(x, box) {
  const reach = Math.max(0, box.width / 2 - 12);
  return Math.min(box.x + reach, Math.max(box.x - reach, x));
}

/**
 * The text beside the edges between two ends; none for several edges.
 * @param {{from: EdgePart["from"], to: EdgePart["to"], edges: GraphEdge[]}} bundle
 */
function beside({ from, to, edges }) {
  return edges.length === 1 && from !== IN && to !== OUT ? textOf(edges[0]) : "";
}

/**
 * @param {Drawn} drawn
 * @returns {{width: number, height: number}}
 */
function sizeOf(drawn) {
  const { width = 0, height = 0 } = /** @type {Partial<Box>} */ (drawn.graph());
  return { width, height };
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
function widthOf(item) {
  const text = nameOf(item).length + (item.kind === "scope" ? 3 + String(item.count).length : 0);
  return Math.max(48, text * CHARACTER + 20);
}

/**
 * @param {{x?: number, y?: number, width?: number, height?: number}} node
 * @returns {Box}
 */
function boxOf({ x = 0, y = 0, width = 0, height = 0 }) {
  return { x, y, width, height };
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
