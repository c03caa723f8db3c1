// Finds nodes of a graph by name; the kernel searches.

import { el } from "../../shared/dom.js";
import { link } from "./graph_details.js";

/** @import { GraphName } from "../../protocol.d.ts" */
/** @import { Reply } from "../board_connection.js" */

const PAUSE_MS = 200; // without typing, after which the kernel is asked

export class GraphSearch {
  /**
   * ask: returns the kernel's answer, or null without a graph; reveal: called with the node to show.
   * @param {{ask: (text: string) => Promise<Reply | null>, reveal: (name: GraphName) => void}} page
   */
  constructor({ ask, reveal }) {
    this.ask = ask;
    this.reveal = reveal;
    this.input = el("input", {
      type: "search",
      placeholder: "find a node",
      "aria-label": "find a node by its name",
      "data-role": "find",
      spellcheck: "false",
    });
    this.input.addEventListener("input", () => this.#later());
    this.input.addEventListener("keydown", (event) => this.#key(event));
    this.found = el("div", {
      class: "nbt-graph-found",
      role: "status",
      "data-role": "found",
      hidden: "",
    });
    /** @type {GraphName[]} */
    this.names = [];
  }

  clear() {
    this.input.value = "";
    this.#show([]);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    event.stopPropagation(); // not a command of the notebook
    if (event.key === "Escape") this.clear();
    if (event.key === "Enter" && this.names.length) this.reveal(this.names[0]);
  }

  #later() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.#find(), PAUSE_MS);
  }

  async #find() {
    const text = this.input.value;
    if (!text) return this.#show([]);
    const content = (await this.ask(text))?.content;
    if (this.input.value !== text || !content || content.t === "lost") return;
    if (content.t === "refused")
      return this.#show([el("div", { class: "nbt-problem", text: content.text })]);
    if (content.t !== "found") return;
    const { found, more } = content;
    if (!found.length) return this.#show([el("div", { text: `No node name contains ${text}.` })]);
    const items = found.map((name) => el("li", { children: [link(name, this.reveal)] }));
    const rest = more ? [el("li", { class: "nbt-soft", text: "and more" })] : [];
    this.#show([el("ul", { children: [...items, ...rest] })], found);
  }

  /**
   * @param {Node[]} nodes
   * @param {GraphName[]} [names]
   */
  #show(nodes, names = []) {
    this.names = names;
    this.found.replaceChildren(...nodes);
    this.found.hidden = !nodes.length;
  }
}
