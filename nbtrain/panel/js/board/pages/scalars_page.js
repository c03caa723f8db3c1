// The page of the scalars: a chart for each tag with all its runs. Each chart in sight asks the kernel for
// its curves.

import { AxisTools } from "../../shared/axis_tools.js";
import { decode } from "../charts/overlay.js";
import { OverlayChart } from "../charts/overlay_chart.js";
import { download } from "../download.js";
import { isEarly, Latest } from "../latest.js";
import { TagGroups } from "../tag_groups.js";
import { having } from "../tags.js";

/** @import { Want } from "../../protocol.d.ts" */
/** @import { Board } from "../board.js" */
/** @import { Reply } from "../board_connection.js" */
/** @import { CurveSource } from "../charts/overlay_chart.js" */
/** @import { Options } from "../options.js" */
/** @import { Page } from "./pages.js" */

/** @implements {CurveSource} */
export class ScalarsPage {
  /** @type {Map<string, string[]>} */
  having = new Map(); // the runs of each tag

  /** @param {Board} board */
  constructor(board) {
    this.board = board;
    /** @type {TagGroups<string, OverlayChart>} */
    this.groups = new TagGroups(board, "scalars", {
      make: (tag) => new OverlayChart(tag, board, this),
      shown: (chart) => {
        chart.resize();
        this.wanted(chart);
      },
      hidden: (chart) => chart.destroy(),
    });
    this.seen = this.groups.seen;
    this.axis = new AxisTools(board.options, (changes) => this.#chosen(changes));
    this.root = this.groups.root;
    this.tools = this.axis.root;
  }

  /** @type {Page["show"]} */
  show(index, chosen, fits) {
    this.having = having(index, index.runs);
    const tags = [...this.having]
      .filter(([tag, runs]) => fits(tag) && runs.some(chosen))
      .map(([tag]) => tag);
    this.groups.show(new Map(tags.map((tag) => [tag, [tag]])));
    this.axis.show();
    this.#want();
    return `${tags.length} of ${this.having.size} tags`;
  }

  /** @param {string | null} run */
  point(run) {
    this.seen.forEach((chart) => chart.emphasize(run));
  }

  retheme() {
    this.seen.forEach((chart) => chart.resize());
  }

  forget() {
    this.groups.cards.forEach((chart) => chart.forget());
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
   * Asks for the curves of a chart in sight, unless it shows them already.
   * @param {OverlayChart} chart
   */
  wanted(chart) {
    if (!this.seen.has(chart)) return;
    const { connection } = this.board;
    const { index } = connection;
    if (!index || isEarly(index, performance.now() - connection.began)) return;
    chart.latest ??= new Latest(connection, (answer) => this.#take(chart, answer));
    chart.latest.want(this.#wantOf(chart), index.version);
  }

  /** @param {OverlayChart} chart */
  async csv(chart) {
    const { content, buffers } = await this.board.connection.ask({
      ...this.#wantOf(chart),
      t: "csv",
    });
    if (content.t === "file")
      download(new Blob([buffers[0]], { type: "text/csv" }), chart.tag, ".csv");
    chart.say(content.t === "refused" ? content.text : "");
  }

  #want() {
    this.seen.forEach((chart) => this.wanted(chart));
  }

  /**
   * @param {OverlayChart} chart
   * @param {Reply & {question: string}} answer
   */
  #take(chart, { content, buffers, question }) {
    chart.say(content.t === "refused" ? content.text : "");
    if (content.t !== "curves") return;
    const seen = this.seen.has(chart);
    if (JSON.stringify(this.#wantOf(chart)) === question)
      chart.curves = decode(content.runs, buffers[0]);
    else if (!seen) chart.latest = null; // this question may be the right one when it comes back
    if (seen) chart.draw();
  }

  /**
   * @param {OverlayChart} chart
   * @returns {{t: "want"} & Want}
   */
  #wantOf(chart) {
    const having = this.having.get(chart.tag) ?? [];
    const chosen = having.filter((run) => this.board.runs.has(run));
    const runs = chosen.length === having.length ? null : chosen;
    return { t: "want", ...chart.wantOf(chart.tag, runs) };
  }

  /** @param {Partial<Options>} changes */
  #chosen(changes) {
    if ("logX" in changes) this.board.forget();
    this.board.keep();
    this.#want();
  }
}
