// What the charts of a page share: each in sight asks the kernel for what it should show.

import { download } from "./download.js";
import { decode } from "./overlay.js";

export class Charts {
  // board: see board.js; seen: the charts in sight, a Set; runsOf: gives the runs of a tag.
  constructor(board, { seen, runsOf }) {
    Object.assign(this, { board, seen, runsOf });
  }

  get options() {
    return this.board.options;
  }

  paint = () => this.board.paint();

  styleOf = (run) => this.board.styleOf(run);

  keep = () => this.board.keep();

  swatch = (run) => this.board.swatch(run);

  // Ask for what a chart in sight should show, if it does not show it yet; one question at a time.
  async wanted(chart) {
    const { index, gone } = this.board.room;
    if (gone || !this.seen.has(chart) || chart.asking) return;
    const want = this.#want(chart);
    const key = JSON.stringify(want);
    if (chart.shown === key && chart.version === index.version) return;
    chart.asking = true;
    const { version } = index;
    const { content, buffers } = await this.board.room.ask({ t: "want", ...want, known: chart.shown === key ? chart.known : null });
    chart.asking = false;
    if (content.t === "lost") return;
    chart.say(content.t === "refused" ? content.text : "");
    Object.assign(chart, { shown: key, version });
    if (content.t === "curves") {
      chart.known = content.known;
      if (JSON.stringify(this.#want(chart)) === key) chart.curves = decode(content.runs, buffers[0]);
      if (this.seen.has(chart)) chart.draw();
    }
    this.wanted(chart); // something else may be wanted by now
  }

  async csv(chart) {
    const { content, buffers } = await this.board.room.ask({ t: "csv", ...this.#want(chart) });
    if (content.t === "file") download(new Blob([buffers[0]], { type: "text/csv" }), chart.tag, ".csv");
    chart.say(content.t === "refused" ? content.text : "");
  }

  #want({ tag, zoom }) {
    const { x, logX, smooth } = this.options;
    const having = this.runsOf(tag);
    const chosen = having.filter((run) => this.board.runs.has(run));
    return { tag, x, log_x: logX, smooth, range: zoom ? [zoom.min, zoom.max] : null, runs: chosen.length === having.length ? null : chosen };
  }
}
