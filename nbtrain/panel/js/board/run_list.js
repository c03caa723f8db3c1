// The list of a board's runs: those that are drawn, and a sample of each line.

import { el, say } from "../shared/dom.js";
import { swatch } from "./swatch.js";
import { filter } from "./tags.js";

/** @import { Board, Chosen, Page } from "../types.d.ts" */

export class RunList {
  /**
   * changed: called with the filter when the drawn runs change; point: called with the run under
   * the pointer, or null.
   * @param {{changed: (filter: string) => void} & Pick<Page, "point"> & Pick<Board, "styleOf">} board
   */
  constructor({ changed, point, styleOf }) {
    this.changed = changed;
    this.point = point;
    this.styleOf = styleOf;
    /** @type {Set<string>} */
    this.off = new Set();
    /** @type {Map<string, {row: HTMLElement, box: HTMLInputElement, label: HTMLElement}>} */
    this.rows = new Map();
    /** @type {Record<string, string[]>} */
    this.labels = {}; // the tags of runs
    /** @type {Chosen} */
    this.fits = () => true;
    this.input = el("input", {
      type: "search",
      placeholder: "filter runs (regex)",
      "aria-label": "filter runs, a regular expression",
      "data-role": "filter-runs",
      spellcheck: "false",
    });
    this.input.addEventListener("input", () => {
      this.#fit();
      this.changed(this.input.value);
    });
    this.count = el("span", { class: "nbt-soft", "data-role": "run-count" });
    const all = el("button", { type: "button", text: "all" });
    const none = el("button", { type: "button", text: "none" });
    all.addEventListener("click", () => this.#checkShown(true));
    none.addEventListener("click", () => this.#checkShown(false));
    this.problem = el("div", { class: "nbt-problem", role: "status", hidden: "" });
    this.list = el("div", { class: "nbt-runs-list", role: "group", "aria-label": "runs" });
    const line = el("div", { class: "nbt-runs-head", children: [this.count, all, none] });
    this.bareCount = el("summary");
    this.bareList = el("div");
    this.bare = el("details", {
      class: "nbt-runs-bare",
      "data-role": "bare-runs",
      hidden: "",
      children: [this.bareCount, this.bareList],
    });
    this.list.append(this.bare);
    this.root = el("div", {
      class: "nbt-runs",
      children: [this.input, this.problem, line, this.list],
    });
  }

  /**
   * Begins with the runs that are not drawn, a Set that is changed in place, and a filter.
   * @param {Set<string>} off
   * @param {string} filter
   */
  begin(off, filter) {
    this.off = off;
    this.input.value = filter;
    this.#fit();
  }

  /**
   * True if a run is drawn.
   * @param {string} run
   */
  has(run) {
    return !this.off.has(run) && this.fits(run);
  }

  /**
   * @param {string[]} runs
   * @param {Record<string, string[]>} [labels] the tags of runs
   * @param {Set<string>} [bare] runs without scalars, which are folded away
   */
  show(runs, labels = {}, bare = new Set()) {
    this.labels = labels;
    for (const run of runs) if (!this.rows.has(run)) this.#add(run);
    const there = new Set(runs);
    for (const [run, { row }] of this.rows)
      if (!there.has(run)) (row.remove(), this.rows.delete(run));
    const names = [...this.rows.keys()].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
    this.#place(
      this.list,
      names.filter((run) => !bare.has(run)),
    );
    const folded = names.filter((run) => bare.has(run));
    this.#place(this.bareList, folded);
    this.bare.hidden = !folded.length;
    this.bareCount.textContent = `${folded.length} ${folded.length === 1 ? "run" : "runs"} without scalars`;
    if (this.list.lastElementChild !== this.bare) this.list.append(this.bare);
    for (const [run, { row, label }] of this.rows) {
      say(label, (labels[run] ?? []).map((each) => `#${each}`).join(" "));
      row.hidden = !this.fits(run);
    }
    this.#tell();
  }

  /**
   * @param {HTMLElement} host
   * @param {string[]} names in the order of their rows
   */
  #place(host, names) {
    if (names.some((run, i) => host.children[i] !== this.rows.get(run).row))
      host.append(...names.map((run) => this.rows.get(run).row));
  }

  /**
   * Draws some runs, or hides them.
   * @param {string[]} runs
   * @param {boolean} on
   */
  check(runs, on) {
    for (const run of runs) {
      if (on) this.off.delete(run);
      else this.off.add(run);
      const row = this.rows.get(run);
      if (row) row.box.checked = on;
    }
    this.#tell();
    this.changed(this.input.value);
  }

  repaint() {
    for (const [run, { row }] of this.rows) row.querySelector("svg").replaceWith(this.swatch(run));
  }

  /**
   * A sample of a run's line.
   * @param {string} run
   */
  swatch(run) {
    return swatch(this.styleOf(run));
  }

  /** @param {string} run */
  #add(run) {
    const box = el("input", { type: "checkbox" });
    box.checked = !this.off.has(run);
    box.addEventListener("change", () => this.check([run], box.checked));
    const label = el("span", { class: "nbt-soft", "data-role": "labels", hidden: "" });
    const row = el("label", {
      class: "nbt-run",
      title: run,
      "data-run": run,
      children: [box, this.swatch(run), el("span", { text: run }), label],
    });
    row.addEventListener("pointerenter", () => this.point(run));
    row.addEventListener("pointerleave", () => this.point(null));
    this.rows.set(run, { row, box, label });
    row.hidden = !this.fits(run);
    this.list.append(row);
  }

  /** @param {boolean} on */
  #checkShown(on) {
    this.check(
      [...this.rows.keys()].filter((run) => this.fits(run)),
      on,
    );
  }

  #fit() {
    const { fits, error } = filter(this.input.value);
    this.fits = (run) => fits(run) || Boolean(this.labels[run]?.some((label) => fits(`#${label}`)));
    this.input.setAttribute("aria-invalid", String(error !== null));
    say(this.problem, error);
    for (const [run, { row }] of this.rows) row.hidden = !fits(run);
    this.#tell();
  }

  #tell() {
    const drawn = [...this.rows.keys()].filter((run) => this.has(run)).length;
    this.count.textContent = `${drawn} of ${this.rows.size} runs`;
  }
}
