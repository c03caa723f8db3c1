// The details of a node or a scope; the names of other nodes are links to them.

import { button, el, scroller } from "../../shared/dom.js";

/** @import { GraphEnds, GraphName, GraphNode, NodeDetails, ScopeDetails } from "../../protocol.d.ts" */

const HELP = "Click a scope to expand or collapse it, or a node to see its details.";

export class GraphDetails {
  /** @param {(name: GraphName) => void} reveal called with the node to show */
  constructor(reveal) {
    this.reveal = reveal;
    this.root = scroller("nbt-graph-details", "details of a node");
    this.root.dataset.role = "details";
    this.clear();
  }

  clear() {
    this.root.replaceChildren(el("p", { class: "nbt-soft", text: HELP }));
  }

  /** @param {string} text */
  say(text) {
    this.root.replaceChildren(el("div", { class: "nbt-problem", text }));
  }

  /** @param {GraphNode} node */
  show(node) {
    const parts = "ops" in node ? this.#scope(node) : this.#node(node);
    this.root.replaceChildren(el("h4", { text: node.name }), ...parts);
    this.root.scrollTop = 0;
  }

  /** @param {NodeDetails} node */
  #node({ op, device, shapes, attributes, inputs, outputs, missing, calls }) {
    /** @type {[string, string][]} */
    const known = [
      ["operation", op],
      ["device", device],
      ["output", shapes.join(", ")],
    ];
    const facts = known.filter(([, text]) => text);
    return [
      pairs(facts),
      ...(calls.length ? [title("Calls"), el("ul", { children: calls.map(this.#item) })] : []),
      ...this.#ends("Inputs", inputs),
      ...(missing.length ? this.#missing(missing) : []),
      ...this.#ends("Outputs", outputs),
      ...(attributes.length ? [title("Attributes"), pairs(attributes)] : []),
    ];
  }

  /** @param {ScopeDetails} scope */
  #scope({ nodes, ops, other_ops: more, inputs, outputs }) {
    const words = `${nodes.toLocaleString("en")} ${nodes === 1 ? "node" : "nodes"}`;
    /** @type {[string, string][]} */
    const counted = ops.map(([op, count]) => [op, count.toLocaleString("en")]);
    const rest = more ? [el("div", { class: "nbt-soft", text: `and ${more} more` })] : [];
    return [
      el("div", { text: words }),
      title("Operations"),
      pairs(counted),
      ...rest,
      ...this.#ends("Inputs from outside", inputs),
      ...this.#ends("Outputs to outside", outputs),
    ];
  }

  /**
   * @param {string} text
   * @param {GraphEnds} ends
   */
  #ends(text, { nodes, more }) {
    if (!nodes.length) return [];
    const list = el("ul", { children: nodes.map(this.#item) });
    if (more) list.append(el("li", { class: "nbt-soft", text: `and ${more} more` }));
    return [title(`${text} (${nodes.length + more})`), list];
  }

  /** @param {string[]} names */
  #missing(names) {
    const items = names.map((text) => el("li", { text }));
    return [title("Missing inputs"), el("ul", { children: items })];
  }

  /** @param {GraphName & {control?: boolean}} name */
  #item = (name) => {
    const control = name.control ? [el("span", { class: "nbt-soft", text: " control" })] : [];
    return el("li", { children: [link(name, this.reveal), ...control] });
  };
}

/**
 * A name that leads to its node.
 * @param {GraphName} name
 * @param {(name: GraphName) => void} reveal
 */
export function link(name, reveal) {
  return button({ class: "nbt-graph-link", text: name.name }, () => reveal(name));
}

/** @param {string} text */
function title(text) {
  return el("h5", { text });
}

/** @param {[name: string, text: string][]} rows */
function pairs(rows) {
  const cells = rows.flatMap(([name, text]) => [el("dt", { text: name }), el("dd", { text })]);
  return el("dl", { children: cells });
}
