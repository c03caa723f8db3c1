// The charts of a page. Each chart in sight asks the kernel for its curves.

import { download } from "../download.js";
import { isEarly, Latest } from "../latest.js";
import { decode } from "./overlay.js";

/** @import { Want } from "../../protocol.d.ts" */
/** @import { OverlayChart } from "./overlay_chart.js" */
/** @import { Board } from "../board.js" */
/** @import { Reply } from "../board_connection.js" */

export class Charts {
  /**
   * seen: the charts in sight; runsOf: returns the runs of a tag.
   * @param {Board} board
   * @param {{seen: Set<OverlayChart>, runsOf: (tag: string) => string[]}} page
   */
  constructor(board, { seen, runsOf }) {
    this.board = board;
    this.seen = seen;
    this.runsOf = runsOf;
  }

  get options() {
    return this.board.options;
  }

  paint = () => this.board.paint();

  /** @type {Board["styleOf"]} */
  styleOf = (run) => this.board.styleOf(run);

  keep = () => this.board.keep();

  /** @param {string} tag */
  pin = (tag) => this.board.choices.toggle("pins", tag);

  /** @type {Board["swatch"]} */
  swatch = (...runs) => this.board.swatch(...runs);

  /** @type {Board["leaderOf"]} */
  leaderOf = (run) => this.board.leaderOf(run);

  /** @type {Board["nameOf"]} */
  nameOf = (run) => this.board.nameOf(run);

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
    chart.latest.want(this.#want(chart), index.version);
  }

  /**
   * @param {OverlayChart} chart
   * @param {Reply & {question: string}} answer
   */
  #take(chart, { content, buffers, question }) {
    chart.say(content.t === "refused" ? content.text : "");
    if (content.t !== "curves") return;
    const seen = this.seen.has(chart);
    if (JSON.stringify(this.#want(chart)) === question)
      chart.curves = decode(content.runs, buffers[0]);
    else if (!seen) chart.latest = null; // this question may be the right one when it comes back
    if (seen) chart.draw();
  }

  /** @param {OverlayChart} chart */
  async csv(chart) {
    const { content, buffers } = await this.board.connection.ask({
      ...this.#want(chart),
      t: "csv",
    });
    if (content.t === "file")
      download(new Blob([buffers[0]], { type: "text/csv" }), chart.tag, ".csv");
    chart.say(content.t === "refused" ? content.text : "");
  }

  /**
   * @param {OverlayChart} chart
   * @returns {{t: "want"} & Want}
   */
  #want({ tag, zoom }) {
    const { x, logX, smooth } = this.options;
    const having = this.runsOf(tag);
    const chosen = having.filter((run) => this.board.runs.has(run));
    return {
      t: "want",
      tag,
      x,
      log_x: logX,
      smooth,
      range: zoom ? [zoom.min, zoom.max] : null,
      runs: chosen.length === having.length ? null : chosen,
    };
  }
}
