// The open scopes of a graph, each with the parts of the edges within it. Uses no DOM.

import { getOrMake, get, lastOf } from "../../shared/collections.js";

/** @import { GraphEdge, GraphItem } from "../../protocol.d.ts" */

/**
 * A part of an edge, between two items of a scope, or an item and an end of the scope.
 * @typedef {{scope: number, from: number | "in", to: number | "out"}} EdgePart
 */

/**
 * An open scope: its items, and the edges within it, bundled by their ends.
 * @typedef {object} Level
 * @property {GraphItem[]} items
 * @property {Map<string, {from: EdgePart["from"], to: EdgePart["to"], edges: GraphEdge[]}>} bundles
 */

export const IN = /** @type {const} */ ("in"); // the upper end of a scope, where edges enter
export const OUT = /** @type {const} */ ("out"); // the lower end, where they leave

/**
 * Returns {levels, parts}: the open scopes by number, where 0 is the graph itself; and the parts of each
 * edge, each within one scope.
 * @param {{items: GraphItem[], edges: GraphEdge[]}} graph a scope comes before what is in it
 */
export function levelsOf({ items, edges }) {
  /** @type {() => Level} */
  const empty = () => ({ items: [], bundles: new Map() });
  const levels = new Map([[0, empty()]]);
  for (const item of items) {
    if (item.open) levels.set(item.number, empty());
    get(levels, item.parent).items.push(item);
  }
  const parents = new Map(items.map(({ number, parent }) => [number, parent]));
  const parts = edges.map((edge) => partsOf(parents, edge));
  for (const [i, edge] of edges.entries())
    for (const { scope, from, to } of parts[i]) {
      const { bundles } = get(levels, scope);
      const bundle = getOrMake(bundles, bundleKey(from, to), () => ({ from, to, edges: [] }));
      bundle.edges.push(edge);
    }
  return { levels, parts };
}

/**
 * The key of the edges between two ends.
 * @param {EdgePart["from"]} from
 * @param {EdgePart["to"]} to
 */
export function bundleKey(from, to) {
  return `${from} ${to}`;
}

/**
 * The parts of an edge: from its source up to the scope that contains both ends, and down to its target.
 * @param {Map<number, number>} parents the scope of each item
 * @param {GraphEdge} edge
 * @returns {EdgePart[]}
 */
function partsOf(parents, { source, target }) {
  const [up, down] = [source, target].map((number) => ancestorsOf(parents, number));
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
 * The scopes that contain an item, from the innermost to the graph itself, each with its child that is or
 * contains the item.
 * @param {Map<number, number>} parents
 * @param {number} number
 */
function ancestorsOf(parents, number) {
  const steps = [];
  for (let child = number; child !== 0; child = get(parents, child))
    steps.push({ scope: get(parents, child), child });
  return steps;
}
