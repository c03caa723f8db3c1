// The open scopes of a graph, each with the parts of edges within it. Knows no page.

import { ensured, known, lastOf } from "../../shared/sure.js";

/** @import { GraphEdge, GraphItem } from "../../protocol.d.ts" */

/**
 * A part of an edge, between two items of a scope, or an item and an end of the scope.
 * @typedef {{scope: number, from: number | "in", to: number | "out"}} Leg
 */

/**
 * An open scope: what is in it, and the edges within it by their ends.
 * @typedef {object} Level
 * @property {GraphItem[]} items
 * @property {Map<string, {from: Leg["from"], to: Leg["to"], edges: GraphEdge[]}>} roads
 */

export const IN = /** @type {const} */ ("in"); // the upper end of a scope, where edges enter
export const OUT = /** @type {const} */ ("out"); // the lower end, where they leave

/**
 * {levels, legs}: each open scope by its number, with the graph itself as 0; and the parts of each
 * edge, each within one of them.
 * @param {{items: GraphItem[], edges: GraphEdge[]}} graph a scope comes before what is in it
 */
export function levelsOf({ items, edges }) {
  /** @type {() => Level} */
  const empty = () => ({ items: [], roads: new Map() });
  const levels = new Map([[0, empty()]]);
  for (const item of items) {
    if (item.open) levels.set(item.number, empty());
    known(levels, item.parent).items.push(item);
  }
  const homes = new Map(items.map(({ number, parent }) => [number, parent]));
  const legs = edges.map((edge) => legsOf(homes, edge));
  for (const [i, edge] of edges.entries())
    for (const { scope, from, to } of legs[i]) {
      const { roads } = known(levels, scope);
      const road = ensured(roads, roadOf(from, to), () => ({ from, to, edges: [] }));
      road.edges.push(edge);
    }
  return { levels, legs };
}

/**
 * The properties that edges between the same two ends share.
 * @param {Leg["from"]} from
 * @param {Leg["to"]} to
 */
export function roadOf(from, to) {
  return `${from} ${to}`;
}

/**
 * From its source up to the scope that holds both ends, and down to its target.
 * @param {Map<number, number>} homes the scope of each item
 * @param {GraphEdge} edge
 * @returns {Leg[]}
 */
function legsOf(homes, { source, target }) {
  const [up, down] = [source, target].map((number) => wayOut(homes, number));
  while (
    up.length > 1 &&
    down.length > 1 &&
    up[up.length - 2].scope === down[down.length - 2].scope
  ) {
    up.pop();
    down.pop();
  }
  const [{ scope, child: from }, { child: to }] = [lastOf(up), lastOf(down)];
  return [
    ...up.slice(0, -1).map((step) => ({ scope: step.scope, from: step.child, to: OUT })),
    { scope, from, to },
    ...down
      .slice(0, -1)
      .reverse()
      .map((step) => ({ scope: step.scope, from: IN, to: step.child })),
  ];
}

/**
 * The scopes that an item is in, from the innermost to the graph itself, each with its child that
 * is the item or holds it.
 * @param {Map<number, number>} homes
 * @param {number} number
 */
function wayOut(homes, number) {
  const steps = [];
  for (let child = number; child !== 0; child = known(homes, child))
    steps.push({ scope: known(homes, child), child });
  return steps;
}
