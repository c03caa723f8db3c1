// The precision-recall curves of a tag: a chart, and for each run the slider that chooses its step.

import { PrChart } from "../charts/pr_chart.js";
import { decodePr } from "../charts/pr_points.js";
import { el, partOf, say } from "../../shared/dom.js";
import { Pin } from "../../shared/pin.js";
import { getOrMake } from "../../shared/collections.js";
import { StepSlider } from "./step_slider.js";
import { choiceOf, placeOf } from "../../shared/cards/steps.js";
import { fullScreen } from "../full_screen.js";
import { named } from "../../shared/name.js";

/** @import { PrCurve } from "../../protocol.d.ts" */
/** @import { Choice } from "../../shared/cards/steps.js" */
/** @import { Bytes } from "../../shared/connection.js" */
/** @import { Board } from "../board.js" */
/** @import { PrRows } from "../charts/pr_points.js" */

/**
 * A run in a chart of precision-recall curves.
 * @typedef {object} PrLine
 * @property {number[]} steps
 * @property {number[]} walls
 * @property {Choice | null} chosen
 * @property {number | undefined} version the version of the board of the latest answer
 * @property {number | undefined} shown the place of the shown step
 * @property {string | null} known
 * @property {PrRows | null} rows
 * @property {string} note
 * @property {HTMLElement} root
 * @property {StepSlider} slider
 * @property {HTMLElement} problem shows the note
 */

export class PrCard {
  /**
   * @param {string} tag
   * @param {Board} board
   * @param {{visible: Set<PrCard>, runsByTag: Map<string, string[]>}} page
   */
  constructor(tag, board, page) {
    this.tag = tag;
    this.board = board;
    this.page = page;
    /** @type {Map<string, PrLine>} */
    this.lines = new Map();
    this.asking = false;
    this.listed = ""; // the runs of the rows
    this.drawn = ""; // the key of the chart's contents
    this.chart = new PrChart(tag, board);
    this.problem = el("div", { class: "nbt-problem", role: "status", hidden: "" });
    this.rows = el("div", { class: "nbt-pr-runs", role: "group", "aria-label": `steps of ${tag}` });
    const name = named(tag, { class: "nbt-tag" });
    this.pin = new Pin(tag, () => board.choices.toggle("pins", tag));
    /** @type {HTMLElement} */
    this.root = el("section", {
      class: "nbt-chart nbt-card",
      "data-tag": tag,
      children: [
        el("div", {
          class: "nbt-chart-head",
          children: [name, fullScreen(tag, this), this.pin.root],
        }),
        this.chart.host,
        this.problem,
        this.rows,
      ],
    });
  }

  // Requests the curves that the chart does not show yet; one request at a time.
  async update() {
    const { connection } = this.board;
    if (connection.gone || this.asking || !this.page.visible.has(this)) return;
    this.#list();
    const { version } = connection;
    const due = this.runs.filter((run) => {
      const line = this.#line(run);
      return line.version !== version || line.shown !== placeOf(line.steps, line.chosen);
    });
    if (!due.length) return;
    const runs = due.map((run) => {
      const { steps, chosen, known } = this.#line(run);
      return { run, at: chosen === null ? -1 : placeOf(steps, chosen), known };
    });
    this.asking = true;
    const { content, buffers } = await connection.ask({ t: "pr_curves", tag: this.tag, runs });
    this.asking = false;
    if (content.t === "lost") return;
    say(this.problem, content.t === "refused" ? content.text : "");
    if (content.t === "refused") due.forEach((run) => this.#fail(this.#line(run), version, ""));
    if (content.t === "pr_curves") this.#take(content.runs, buffers, version);
    this.#show();
    this.update(); // other curves may be wanted by now
  }

  // Removes all curves while the card is hidden.
  clear() {
    this.chart.destroy();
    this.drawn = "";
    for (const line of this.lines.values()) {
      line.known = line.rows = null;
      line.version = line.shown = undefined;
    }
  }

  resize() {
    this.chart.resize();
  }

  // Called when other runs may be drawn, or when the colours have changed.
  redraw() {
    this.#list();
    this.#show();
  }

  // The runs that are drawn.
  get runs() {
    return (this.page.runsByTag.get(this.tag) ?? []).filter((run) => this.board.runs.has(run));
  }

  /**
   * Shows another step of a run.
   * @param {string} run
   * @param {number} at
   */
  move(run, at) {
    const line = this.#line(run);
    line.chosen = choiceOf(line.steps, at);
    this.#showStep(line);
    this.update();
  }

  /**
   * @param {PrCurve[]} entries
   * @param {Bytes[]} buffers
   * @param {number} version
   */
  #take(entries, buffers, version) {
    const left = [...buffers];
    for (const entry of entries) {
      const line = this.#line(entry.run);
      if ("problem" in entry) {
        this.#fail(line, version, entry.problem);
        continue;
      }
      line.version = version;
      if ("known" in entry) {
        const [bytes] = left.splice(0, 1);
        const { steps, walls, rows } = decodePr(entry, bytes);
        Object.assign(line, { steps, walls, rows, known: entry.known, note: entry.note });
        line.shown = entry.at;
      } else {
        line.shown = placeOf(line.steps, line.chosen);
      }
      this.#showStep(line);
    }
  }

  /**
   * @param {PrLine} line
   * @param {number} version
   * @param {string} why
   */
  #fail(line, version, why) {
    line.shown = placeOf(line.steps, line.chosen);
    line.known = line.rows = null;
    line.version = version;
    line.note = why;
    this.#showStep(line);
  }

  #show() {
    if (!this.page.visible.has(this)) return;
    const { runs } = this;
    const drawn = JSON.stringify([this.listed, runs.map((run) => this.#line(run).known)]);
    if (this.drawn === drawn) return;
    this.drawn = drawn;
    /** @type {[run: string, rows: PrRows][]} */
    const curves = [];
    for (const run of runs) {
      const { rows } = this.#line(run);
      if (rows?.recall.length) curves.push([run, rows]);
    }
    this.chart.show(curves);
    this.root.dataset.steps = runs
      .map((run) => {
        const { steps, shown } = this.#line(run);
        return shown === undefined ? "" : (steps[shown] ?? "");
      })
      .join();
  }

  /** @param {string} run */
  #line(run) {
    return getOrMake(this.lines, run, () => this.#made(run));
  }

  // The rows of the runs that are drawn.
  #list() {
    const { runs } = this;
    const key = JSON.stringify([runs, this.board.paint()]);
    if (this.listed === key) return;
    this.listed = key;
    for (const run of runs) {
      const { root } = this.#line(run);
      partOf(root, "svg").replaceWith(this.board.swatch(run));
    }
    this.rows.replaceChildren(...runs.map((run) => this.#line(run).root));
  }

  /**
   * @param {string} run
   * @returns {PrLine}
   */
  #made(run) {
    const title = this.board.connection.titleOf(run);
    const slider = new StepSlider(`step of ${this.tag} in ${title}`, (at) => this.move(run, at));
    const problem = el("div", { class: "nbt-problem", "data-role": "note", hidden: "" });
    const name = el("span", {
      class: "nbt-of-run",
      title,
      children: [
        this.board.swatch(run),
        named(this.board.nameOf(run), { class: "nbt-run-name", title }),
      ],
    });
    slider.root.prepend(name);
    const root = el("div", { "data-run": run, children: [slider.root, problem] });
    return {
      steps: [],
      walls: [],
      chosen: null,
      version: undefined,
      shown: undefined,
      known: null,
      rows: null,
      note: "",
      root,
      slider,
      problem,
    };
  }

  /** @param {PrLine} line */
  #showStep(line) {
    say(line.problem, line.note);
    line.slider.show(line, placeOf(line.steps, line.chosen));
  }
}
