// A chart of a layout: the curves of several tags, or values with their bounds.

import { labelled, margins } from "./custom_lines.js";
import { el } from "../../shared/dom.js";
import { download } from "../download.js";
import { saveDrawing } from "./drawing.js";
import { decode } from "./overlay.js";
import { OverlayChart } from "./overlay_chart.js";
import { swatch } from "../swatch.js";
import { dashOf, style } from "../tags.js";

/** @import { LayoutChart, Want } from "../../protocol.d.ts" */
/** @import { Board } from "../board.js" */
/** @import { Reply } from "../board_connection.js" */
/** @import { Page } from "../pages/pages.js" */
/** @import { LineOf } from "./custom_lines.js" */
/** @import { RunCurve } from "./overlay.js" */

const PALE = 0.5; // the opacity of a validation, whose dash shows the tag and whose colour the fit

export class CustomChart {
  /**
   * @param {LayoutChart} chart
   * @param {Board} board
   * @param {{visible: Set<CustomChart>, runsByTag: Map<string, string[]>}} page
   */
  constructor(chart, board, page) {
    this.title = chart.title;
    this.tags = chart.tags;
    this.series = chart.series;
    this.words = chart.words;
    this.board = board;
    this.page = page;
    /** @type {Map<string, RunCurve[]>} */
    this.found = new Map();
    /** @type {Map<string, string>} */
    this.known = new Map();
    /** @type {Map<string, LineOf>} */
    this.lines = new Map();
    this.asking = false;
    this.shown = ""; // the key of the requested curves
    /** @type {number | null} */
    this.version = null; // the board's version at the request
    this.chart = new OverlayChart(chart.title, this, this);
    this.legend = el("div", { class: "nbt-tag-legend", "data-role": "tags" });
    this.chart.problem.before(this.legend);
    this.root = this.chart.root;
    this.chart.say(this.words.join("\n"));
  }

  // --- what its plot calls

  // Values with bounds are not smoothed, because a smoothed line could leave its band.
  get options() {
    return this.series ? { ...this.board.options, smooth: 0 } : this.board.options;
  }

  saveOptions = () => this.board.saveOptions();

  paint = () => this.board.paint();

  /** @type {Board["styleOf"]} */
  styleOf = (label) => {
    const line = this.lines.get(label);
    if (!line || this.names.length < 2) return this.board.styleOf(line?.run ?? label);
    const look = this.#lookOf(this.names.indexOf(line.tag));
    if (this.single) return look;
    const { colour } = this.board.styleOf(line.run);
    return { ...look, colour, alpha: this.#validates(line) ? PALE : 1 };
  };

  /** @type {Board["swatch"]} */
  swatch = (label) => swatch(this.styleOf(label));

  /** @type {Board["leaderOf"]} */
  leaderOf = (label) => this.board.leaderOf(this.lines.get(label)?.run ?? label);

  /** @type {Board["nameOf"]} */
  nameOf = (label) => label;

  // Requests the curves if the chart is visible and does not show them yet.
  async update() {
    const { connection } = this.board;
    if (connection.gone || !this.page.visible.has(this) || this.asking) return;
    const wants = this.#wants();
    const key = JSON.stringify(wants);
    const { version } = connection;
    if (this.shown === key && this.version === version) return;
    this.asking = true;
    const again = this.shown === key;
    const answers = await Promise.all(
      wants.map((want) =>
        connection.ask({
          t: "want",
          ...want,
          known: again ? (this.known.get(want.tag) ?? null) : null,
        }),
      ),
    );
    this.asking = false;
    if (answers.some(({ content }) => content.t === "lost")) return;
    const right = JSON.stringify(this.#wants()) === key;
    this.shown = right ? key : "";
    this.version = version;
    if (right) this.#take(wants, answers);
    this.update(); // other curves may be wanted by now
  }

  async csv() {
    const answers = await Promise.all(
      this.#wants().map((want) => this.board.connection.ask({ t: "csv", ...want })),
    );
    for (const { content } of answers)
      if (content.t === "refused") return this.chart.say(content.text);
    if (answers.some(({ content }) => content.t !== "file")) return;
    const texts = answers.map(({ buffers }) => new TextDecoder().decode(buffers[0]));
    const parts = texts.map((text, i) => (i ? text.slice(text.indexOf("\n") + 1) : text));
    download(new Blob(parts, { type: "text/csv" }), this.title, ".csv");
  }

  svg() {
    const { board, names } = this;
    const tells = names.length > 1 && !this.single; // whether dashes tell the tags apart
    const lines = [...this.lines].map(([name, { run, tag }]) => {
      const number = names.indexOf(tag);
      const series = this.series?.find(({ value }) => value === tag);
      return {
        run,
        tag,
        name,
        look: names.length > 1 && this.single ? number : board.lookOf(run),
        dash: tells ? number : null,
        validates: (tells || names.length < 2) && this.#validates({ run, tag }),
        bounds: series ? /** @type {[string, string]} */ ([series.lower, series.upper]) : null,
      };
    });
    return saveDrawing(board.connection, this.chart, lines);
  }

  // --- what the page calls

  /** @type {Page["highlight"]} */
  highlight(run) {
    this.chart.highlight(run);
  }

  resize() {
    this.chart.resize();
    this.#showTags();
  }

  axisChanged() {
    this.found.clear();
    this.shown = "";
    this.chart.axisChanged();
  }

  destroy() {
    this.chart.destroy();
  }

  // The tags of its lines.
  get names() {
    return this.series ? this.series.map(({ value }) => value) : this.tags;
  }

  /** @returns {Want[]} */
  #wants() {
    return this.tags.map((tag) => {
      const runsByTag = this.page.runsByTag.get(tag) ?? [];
      return this.chart.wantOf(
        tag,
        runsByTag.filter((run) => this.board.runs.has(run)),
      );
    });
  }

  /**
   * @param {Want[]} wants
   * @param {Reply[]} answers
   */
  #take(wants, answers) {
    const refused = answers.flatMap(({ content }) =>
      content.t === "refused" ? [content.text] : [],
    );
    answers.forEach(({ content, buffers }, i) => {
      if (content.t !== "curves") return;
      this.known.set(wants[i].tag, content.known);
      this.found.set(wants[i].tag, decode(content.runs, buffers[0]));
    });
    /** @param {string} run */
    const titleOf = (run) => this.board.connection.titleOf(run);
    const { found, problems } = this.series
      ? margins(this.series, this.found, titleOf)
      : { found: this.found, problems: [] };
    const byName = new Map(this.names.map((tag) => [tag, found.get(tag) ?? []]));
    const curves = labelled(byName, titleOf);
    this.lines = new Map(curves.map(({ run, of }) => [run, of]));
    this.single = new Set(curves.map(({ of }) => of.run)).size < 2;
    this.chart.say([...new Set([...this.words, ...problems, ...refused])].join("\n"));
    this.chart.curves = curves;
    this.chart.host.hidden = !curves.length;
    if (this.page.visible.has(this)) this.chart.draw();
    this.#showTags();
  }

  /**
   * The look of the n-th tag: a colour if there is one run, a dash if there are several.
   * @param {number} n
   */
  #lookOf(n) {
    const { colours, strong } = this.paint();
    return this.single ? style(n, colours) : { colour: strong, dash: dashOf(n) };
  }

  /** @param {LineOf} line */
  #validates({ run }) {
    return this.board.leaderOf(run) !== run;
  }

  // The look of each tag, if there are several.
  #showTags() {
    const names = this.names.length > 1 && this.lines.size ? this.names : [];
    const pale =
      names.length && !this.single && [...this.lines.values()].some(this.#validates, this);
    this.legend.replaceChildren(
      ...names.map((tag, i) => {
        const sample = swatch(this.#lookOf(i));
        return el("span", {
          class: "nbt-tag-name",
          title: tag,
          children: [sample, el("span", { text: tag })],
        });
      }),
      ...(pale ? [el("span", { class: "nbt-soft", text: "pale: validation" })] : []),
    );
  }
}
