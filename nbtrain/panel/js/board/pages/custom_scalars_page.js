// The page of the custom scalars: the charts of a program's layout.

import { AxisTools } from "../../shared/axis_tools.js";
import { CustomChart } from "../charts/custom_chart.js";
import { el, say } from "../../shared/dom.js";
import { Latest } from "../latest.js";
import { Viewport } from "../../shared/viewport.js";
import { getOrMake } from "../../shared/collections.js";
import { runsByTag } from "../tags.js";

/** @import { Layout, LayoutChart } from "../../protocol.d.ts" */
/** @import { Board } from "../board.js" */
/** @import { Reply } from "../board_connection.js" */
/** @import { Options } from "../options.js" */
/** @import { NameTest } from "../tags.js" */
/** @import { Page } from "./pages.js" */

export class CustomScalarsPage {
  /** @param {Board} board */
  constructor(board) {
    this.board = board;
    /** @type {Layout["categories"]} */
    this.categories = [];
    /** @type {Map<string, CustomChart>} */
    this.charts = new Map();
    /** @type {Map<string, boolean>} */
    this.open = new Map();
    /** @type {Map<string, string[]>} */
    this.runsByTag = new Map();
    this.key = ""; // identifies the drawn contents
    /** @type {NameTest} */
    this.matches = () => true;
    this.latest = new Latest(board.connection, ({ content }) => this.#take(content));
    /** @type {Viewport<CustomChart>} */
    this.viewport = new Viewport({
      shown: (chart) => this.#shown(chart),
      hidden: (chart) => chart.destroy(),
    });
    this.visible = this.viewport.visible;
    this.axis = new AxisTools(board.options, (changes) => this.#chosen(changes));
    this.problem = el("div", { class: "nbt-problem", role: "status", hidden: "" });
    this.groups = el("div", { class: "nbt-groups nbt-custom", "data-role": "layout" });
    this.root = el("div", { class: "nbt-page", children: [this.problem, this.groups] });
    this.tools = this.axis.root;
    this.size = new ResizeObserver(() => this.retheme());
    this.size.observe(this.groups);
  }

  /** @type {Page["show"]} */
  show(index, _chosen, matches) {
    this.matches = matches;
    this.runsByTag = runsByTag(index, index.runs);
    this.latest.want({ t: "layout" }, index.version);
    this.axis.show();
    return this.#draw();
  }

  /** @param {string | null} run */
  highlight(run) {
    this.visible.forEach((chart) => chart.highlight(run));
  }

  retheme() {
    this.visible.forEach((chart) => chart.resize());
  }

  close() {
    this.size.disconnect();
    this.viewport.close();
  }

  axisChanged() {
    this.charts.forEach((chart) => chart.axisChanged());
  }

  /** @param {Reply["content"]} content */
  #take(content) {
    say(this.problem, content.t === "refused" ? content.text : "");
    if (content.t !== "layout") return;
    this.categories = content.categories;
    const there = new Set(
      this.categories.flatMap(({ title, charts }) => charts.map((chart) => keyOf(title, chart))),
    );
    for (const [key, chart] of this.charts)
      if (!there.has(key)) (this.viewport.leave(chart), this.charts.delete(key));
    this.board.draw(); // also draws this page, and the number of charts
  }

  #draw() {
    const all = this.categories.flatMap(({ charts }) => charts);
    const found = this.categories
      .map((category) => ({
        ...category,
        charts: category.charts.filter(({ title, tags }) => [title, ...tags].some(this.matches)),
      }))
      .filter(({ charts }) => charts.length);
    const key = JSON.stringify(found);
    if (this.key !== key) {
      this.key = key;
      this.groups.replaceChildren(...found.map((category) => this.#category(category)));
      this.viewport.recheck();
    }
    this.visible.forEach((chart) => chart.update());
    return `${found.reduce((n, { charts }) => n + charts.length, 0)} of ${all.length} charts`;
  }

  /** @param {Layout["categories"][number]} category */
  #category({ title, closed, charts }) {
    const name = title || "untitled";
    const head = [el("span", { text: name }), el("small", { text: String(charts.length) })];
    const grid = el("div", {
      class: "nbt-grid",
      children: charts.map((chart) => this.#chart(title, chart).root),
    });
    const group = el("details", {
      class: "nbt-group",
      "data-group": name,
      children: [el("summary", { children: head }), grid],
    });
    group.open = this.open.get(title) ?? !closed;
    group.addEventListener("toggle", () => this.open.set(title, group.open));
    return group;
  }

  /**
   * @param {string} category
   * @param {LayoutChart} chart
   */
  #chart(category, chart) {
    const key = keyOf(category, chart);
    return getOrMake(this.charts, key, () => {
      const made = new CustomChart(chart, this.board, this);
      this.viewport.watch(made);
      return made;
    });
  }

  /** @param {CustomChart} chart */
  #shown(chart) {
    chart.resize();
    chart.update();
  }

  /** @param {Partial<Options>} changes */
  #chosen(changes) {
    if ("logX" in changes) this.board.axisChanged();
    this.board.saveOptions();
    this.visible.forEach((chart) => chart.update());
  }
}

/**
 * A chart with other tags is another chart.
 * @param {string} category
 * @param {LayoutChart} chart
 */
function keyOf(category, chart) {
  return JSON.stringify([category, chart]);
}
