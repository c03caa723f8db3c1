// The page of the scalars: a chart for each tag with all its runs. Each visible chart requests its
// curves.

import { AxisTools } from "../../shared/axis_tools.js";
import { saveDrawing } from "../charts/drawing.js";
import { decode } from "../charts/overlay.js";
import { OverlayChart } from "../charts/overlay_chart.js";
import { download } from "../download.js";
import { isEarly, Latest } from "../latest.js";
import { TagGroups } from "../tag_groups.js";
import { runsByTag } from "../tags.js";

/** @import { Want } from "../../protocol.d.ts" */
/** @import { Board } from "../board.js" */
/** @import { Reply } from "../board_connection.js" */
/** @import { CurveSource } from "../charts/overlay_chart.js" */
/** @import { Options } from "../options.js" */
/** @import { Page } from "./pages.js" */

/** @implements {CurveSource} */
export class ScalarsPage {
  /** @type {Map<string, string[]>} */
  runsByTag = new Map(); // the runs of each tag

  /** @param {Board} board */
  constructor(board) {
    this.board = board;
    /** @type {TagGroups<string, OverlayChart>} */
    this.groups = new TagGroups(board, "scalars", {
      make: (tag) => new OverlayChart(tag, board, this),
      shown: (chart) => {
        chart.resize();
        this.update(chart);
      },
      hidden: (chart) => chart.destroy(),
    });
    this.visible = this.groups.visible;
    this.axis = new AxisTools(board.options, (changes) => this.#chosen(changes));
    this.root = this.groups.root;
    this.tools = this.axis.root;
  }

  /** @type {Page["show"]} */
  show(index, chosen, matches) {
    this.runsByTag = runsByTag(index, index.runs);
    const tags = [...this.runsByTag]
      .filter(([tag, runs]) => matches(tag) && runs.some(chosen))
      .map(([tag]) => tag);
    this.groups.show(new Map(tags.map((tag) => [tag, [tag]])));
    this.axis.show();
    this.#want();
    return `${tags.length} of ${this.runsByTag.size} tags`;
  }

  /** @param {string | null} run */
  highlight(run) {
    this.visible.forEach((chart) => chart.highlight(run));
  }

  retheme() {
    this.visible.forEach((chart) => chart.resize());
  }

  axisChanged() {
    this.groups.cards.forEach((chart) => chart.axisChanged());
  }

  close() {
    this.groups.close();
  }

  // --- what its charts call

  /** @param {string} tag */
  pin(tag) {
    this.board.choices.toggle("pins", tag);
  }

  /**
   * Requests the curves of a visible chart, unless it shows them.
   * @param {OverlayChart} chart
   */
  update(chart) {
    if (!this.visible.has(chart)) return;
    const { connection } = this.board;
    const { index } = connection;
    if (!index || isEarly(index, performance.now() - connection.began)) return;
    chart.latest ??= new Latest(connection, (answer) => this.#take(chart, answer));
    chart.latest.want(this.#wantOf(chart), index.version);
  }

  /** @param {OverlayChart} chart */
  async csv(chart) {
    const question = /** @type {const} */ ({ ...this.#wantOf(chart), t: "csv" });
    const { content, buffers } = await this.board.connection.ask(question);
    if (content.t === "file")
      download(new Blob([buffers[0]], { type: "text/csv" }), chart.tag, ".csv");
    chart.say(content.t === "refused" ? content.text : "");
  }

  /** @param {OverlayChart} chart */
  svg(chart) {
    const { board } = this;
    const drawn = new Set(chart.curves.map(({ run }) => run));
    const lines = chart.curves.map(({ run }) => {
      const leader = board.leaderOf(run);
      const validates = leader !== run;
      const name = validates && drawn.has(leader) ? "" : board.connection.fitNameOf(leader);
      const look = board.lookOf(run);
      return { run, tag: chart.tag, name, look, dash: null, validates, bounds: null };
    });
    return saveDrawing(board.connection, chart, lines);
  }

  #want() {
    this.visible.forEach((chart) => this.update(chart));
  }

  /**
   * @param {OverlayChart} chart
   * @param {Reply & {question: string}} answer
   */
  #take(chart, { content, buffers, question }) {
    chart.say(content.t === "refused" ? content.text : "");
    if (content.t !== "curves") return;
    const seen = this.visible.has(chart);
    if (JSON.stringify(this.#wantOf(chart)) === question)
      chart.curves = decode(content.runs, buffers[0]);
    else if (!seen) chart.latest = null; // this question may be right when the chart is visible again
    if (seen) chart.draw();
  }

  /**
   * @param {OverlayChart} chart
   * @returns {{t: "want"} & Want}
   */
  #wantOf(chart) {
    const runsByTag = this.runsByTag.get(chart.tag) ?? [];
    const chosen = runsByTag.filter((run) => this.board.runs.has(run));
    const runs = chosen.length === runsByTag.length ? null : chosen;
    return { t: "want", ...chart.wantOf(chart.tag, runs) };
  }

  /** @param {Partial<Options>} changes */
  #chosen(changes) {
    if ("logX" in changes) this.board.axisChanged();
    this.board.saveOptions();
    this.#want();
  }
}
