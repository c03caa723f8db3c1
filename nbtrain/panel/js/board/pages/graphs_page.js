// The page of the graphs: one at a time, with its scopes open or closed, and the details of a node.

import { el, say } from "../../shared/dom.js";
import { getOrMake } from "../../shared/collections.js";
import { GraphCanvas } from "../graph/graph_canvas.js";
import { GraphDetails } from "../graph/graph_details.js";
import { GraphSearch } from "../graph/graph_search.js";
import { Latest } from "../latest.js";
import { runsByTag } from "../tags.js";

/** @import { Graph, GraphItem, GraphName } from "../../protocol.d.ts" */
/** @import { Board } from "../board.js" */
/** @import { Reply } from "../board_connection.js" */
/** @import { Page } from "./pages.js" */

/**
 * The open scopes of a graph.
 * @typedef {object} GraphState
 * @property {string | null} of
 * @property {number[] | null} open
 * @property {number | null} focus
 * @property {number | null} selected
 */

/** @typedef {{run: string, tag: string}} Key The key of a graph. */

/** @type {GraphState} */
const UNTOUCHED = { of: null, open: null, focus: null, selected: null };

export class GraphsPage {
  /** @param {Board} board */
  constructor(board) {
    this.board = board;
    /** @type {Key[]} */
    this.keys = [];
    /** @type {Key | null} */
    this.key = null;
    this.offered = ""; // the graphs in the list, as a text
    /** @type {Map<string, GraphState>} */
    this.states = new Map();
    /** @type {Graph | null} */
    this.there = null;
    this.latest = this.#latest();
    this.canvas = new GraphCanvas((item) => this.#act(item));
    this.details = new GraphDetails((name) => this.#reveal(name));
    this.search = new GraphSearch({
      ask: (text) => this.#find(text),
      reveal: (name) => this.#reveal(name),
    });
    this.choice = el("select", { "data-role": "graph", "aria-label": "graph" });
    this.choice.addEventListener("change", () =>
      this.#choose(this.keys[Number(this.choice.value)]),
    );
    this.problem = el("div", { class: "nbt-problem", role: "status", hidden: "" });
    this.words = el("div", {
      class: "nbt-soft",
      role: "status",
      "data-role": "graph-words",
      hidden: "",
    });
    const side = el("div", {
      class: "nbt-graph-side",
      children: [this.search.found, this.details.root],
    });
    this.body = el("div", { class: "nbt-graph", children: [this.canvas.root, side] });
    this.root = el("div", { class: "nbt-page", children: [this.problem, this.words, this.body] });
    this.tools = el("div", {
      class: "nbt-own",
      children: [this.choice, this.search.input],
    });
  }

  /** @type {Page["show"]} */
  show(index, chosen, matches) {
    const tags = index.kinds.graphs;
    const all = [...runsByTag(tags, index.runs)].flatMap(([tag, runs]) =>
      runs.map((run) => ({ run, tag })),
    );
    this.keys = all.filter(({ run, tag }) => chosen(run) && matches(tag));
    const key = this.keys.find((each) => same(each, this.key)) ?? this.keys[0] ?? null;
    this.#offer(key);
    if (!same(key, this.key)) this.#choose(key);
    else this.#want();
    return `${this.keys.length} of ${all.length} ${all.length === 1 ? "graph" : "graphs"}`;
  }

  highlight() {}

  retheme() {}

  close() {
    this.canvas.close();
  }

  /** @param {Key | null} key */
  #offer(key) {
    const offered = JSON.stringify(this.keys);
    if (this.offered !== offered) {
      this.offered = offered;
      const options = this.keys.map(({ run, tag }, i) =>
        el("option", { value: i, text: `${this.board.connection.titleOf(run)} · ${tag}` }),
      );
      this.choice.replaceChildren(...options);
      this.choice.hidden = this.keys.length < 2;
    }
    this.choice.value = String(key ? this.keys.indexOf(key) : -1);
    this.body.hidden = this.search.input.hidden = !key;
  }

  /** @param {Key | null} key */
  #choose(key) {
    this.key = key;
    this.there = null;
    this.latest = this.#latest();
    this.canvas.clear();
    this.details.clear();
    this.search.clear();
    say(this.problem, "");
    say(this.words, "");
    this.#want();
  }

  /** @returns {GraphState} */
  get state() {
    const name = JSON.stringify(this.key);
    return getOrMake(this.states, name, () => ({ ...UNTOUCHED }));
  }

  /** @param {string} text */
  async #find(text) {
    return this.key && this.board.connection.ask({ t: "find", ...this.key, text });
  }

  // The kernel's answers about one graph.
  #latest() {
    return new Latest(this.board.connection, (answer) => this.#take(answer));
  }

  #want() {
    if (!this.key) return;
    const { of, open, focus } = this.state;
    this.latest.want({ t: "graph", ...this.key, of, open, focus }, this.board.connection.version);
  }

  /** @param {Reply & {question: string}} answer */
  #take({ content, question }) {
    const { key, state } = this;
    if (!key || !same(JSON.parse(question), key)) return;
    say(this.problem, content.t === "refused" ? content.text : "");
    if (content.t === "refused") this.canvas.clear();
    if (content.t !== "graph") return;
    if (state.of !== null && state.of !== content.of) Object.assign(state, UNTOUCHED); // the graph was written again
    this.there = content;
    say(this.words, content.words.join(" "));
    try {
      const run = this.board.connection.titleOf(key.run);
      this.canvas.show(content, `graph ${key.tag} of ${run}`);
    } catch (error) {
      this.canvas.clear();
      say(this.problem, `This graph cannot be laid out: ${error}. Collapse a scope.`);
    }
    this.canvas.select(state.selected);
    if (state.selected === null) this.details.clear();
  }

  /** @param {GraphItem} item */
  #act(item) {
    if (!this.there || item.kind === "rest") return;
    const { number, kind, open } = item;
    this.#select(number);
    if (kind !== "scope") return;
    const { of, open: all } = this.there;
    const { state, canvas } = this;
    canvas.anchor = number;
    state.of = of;
    state.open = open ? all.filter((each) => each !== number) : [...all, number];
    this.#want();
  }

  /** @param {GraphName} name */
  #reveal({ number, scopes }) {
    if (!this.there) return;
    const { state, canvas } = this;
    const { of, open } = this.there;
    state.of = of;
    state.open = [...new Set([...open, ...scopes])];
    state.focus = number;
    canvas.reveal(number);
    this.#select(number);
    this.#want();
  }

  /** @param {number} number */
  async #select(number) {
    const { state, key, there } = this;
    if (!key || !there) return;
    state.selected = number;
    this.canvas.select(number);
    const { connection } = this.board;
    const { content } = await connection.ask({ t: "node", ...key, of: there.of, number });
    if (this.state.selected !== number || !same(key, this.key)) return;
    if (content.t === "node") this.details.show(content);
    if (content.t === "refused") this.details.say(content.text);
  }
}

/**
 * @param {Key | null} one
 * @param {Key | null} other
 */
function same(one, other) {
  return one?.run === other?.run && one?.tag === other?.tag;
}
