// The list of a board's runs: check boxes that choose the drawn ones, and a sample of each line.

import { brief } from "./fits.js";
import { button, el, partOf, say } from "../shared/dom.js";
import { get } from "../shared/collections.js";
import { filter } from "./tags.js";

/** @import { Fit } from "../protocol.d.ts" */
/** @import { Board } from "./board.js" */
/** @import { Options } from "./options.js" */
/** @import { Page } from "./pages/pages.js" */
/** @import { NameTest } from "./tags.js" */

/** @typedef {{row: HTMLElement, fit: Fit, box: HTMLInputElement, name: HTMLElement, label: HTMLElement}} Row */

/**
 * folder: the common beginning of all names; labels: the tags of runs; bare: the runs without
 * scalars, which are collapsed.
 * @typedef {{folder?: string, labels?: Record<string, string[]>, bare?: Set<string>}} About
 */

export class RunList {
  /** @type {Set<string>} */
  off = new Set();
  /** @type {Map<string, Row>} */
  rows = new Map(); // by the leader of the fit
  /** @type {Record<string, string[]>} */
  labels = {}; // the tags of runs
  /** @type {Map<string, string[]>} */
  names = new Map(); // for each run, the whole and the shown name of its fit
  /** @type {NameTest} */
  matches = () => true;
  input = el("input", {
    type: "search",
    placeholder: "filter runs (regex)",
    "aria-label": "filter runs, a regular expression",
    "data-role": "filter-runs",
    spellcheck: "false",
  });
  colourBy = el("input", {
    type: "search",
    placeholder: "colour by (regex)",
    title:
      "Runs in whose names this finds the same text get the same colour. With (groups), only their text counts.",
    "aria-label": "colour runs by a regular expression",
    "data-role": "colour-by",
    spellcheck: "false",
  });
  count = el("span", { class: "nbt-soft", "data-role": "run-count" });
  problem = el("div", { class: "nbt-problem", role: "status", hidden: "" });
  list = el("div", { class: "nbt-runs-list", role: "group", "aria-label": "runs" });
  bareCount = el("summary");
  bareList = el("div");
  bare = el("details", {
    class: "nbt-runs-bare",
    "data-role": "bare-runs",
    hidden: "",
    children: [this.bareCount, this.bareList],
  });
  folder = el("div", { class: "nbt-soft nbt-runs-folder", hidden: "" });

  /**
   * changed: called with the filter when the drawn runs change; coloured: called with the valid regular
   * expression by which runs get their colours; highlight: called with the leader under the pointer, or
   * null.
   * @param {{changed: (filter: string) => void, coloured: (by: string) => void} & Pick<Page, "highlight"> & Pick<Board, "swatch">} board
   */
  constructor({ changed, coloured, highlight, swatch }) {
    this.changed = changed;
    this.highlight = highlight;
    this.swatch = swatch;
    this.input.addEventListener("input", () => {
      this.#fit();
      this.changed(this.input.value);
    });
    this.colourBy.addEventListener("input", () => {
      this.#check();
      if (filter(this.colourBy.value).error === null) coloured(this.colourBy.value);
    });
    const all = button({ text: "all" }, () => this.#checkShown(true));
    const none = button({ text: "none" }, () => this.#checkShown(false));
    const line = el("div", { class: "nbt-runs-head", children: [this.count, all, none] });
    this.list.append(this.bare);
    this.root = el("div", {
      class: "nbt-runs",
      children: [this.input, this.colourBy, this.problem, line, this.folder, this.list],
    });
  }

  /**
   * Begins with the choices of an earlier page; `off` is changed in place.
   * @param {Pick<Options, "off" | "runs" | "colourBy">} options
   */
  begin({ off, runs, colourBy }) {
    this.off = off;
    this.input.value = runs;
    this.colourBy.value = colourBy;
    this.#fit();
  }

  /**
   * Returns whether a run is drawn.
   * @param {string} run
   */
  has(run) {
    return !this.off.has(run) && this.matches(run);
  }

  /**
   * @param {Iterable<Fit>} fits in their order
   * @param {About} [about]
   */
  show(fits, { folder = "", labels = {}, bare = new Set() } = {}) {
    this.labels = labels;
    /** @type {Map<string, Fit>} */
    const there = new Map([...fits].map((fit) => [fit.lead, fit]));
    for (const [lead, { row, fit }] of this.rows)
      if (there.get(lead)?.runs.length !== fit.runs.length) (row.remove(), this.rows.delete(lead));
    for (const [lead, fit] of there) if (!this.rows.has(lead)) this.#add(fit);
    say(this.folder, folder && `in ${folder}`);
    const rows = [...there.keys()].map((lead) => get(this.rows, lead));
    this.names = new Map(rows.flatMap(({ fit }) => namesOf(fit, folder)));
    /** @param {Row} row */
    const isBare = ({ fit }) => fit.runs.every((run) => bare.has(run));
    this.#place(
      this.list,
      rows.filter((row) => !isBare(row)),
    );
    const folded = rows.filter(isBare);
    this.#place(this.bareList, folded);
    this.bare.hidden = !folded.length;
    this.bareCount.textContent = `${folded.length} ${folded.length === 1 ? "run" : "runs"} without scalars`;
    if (this.list.lastElementChild !== this.bare) this.list.append(this.bare);
    this.colourBy.hidden = rows.length < 2;
    for (const { row, fit, name, label } of rows) {
      say(name, brief(get(this.names, fit.runs[0])[1]));
      const tags = new Set(fit.runs.flatMap((run) => labels[run] ?? []));
      say(label, [...tags].map((each) => `#${each}`).join(" "));
      row.hidden = !this.#isListed(fit);
    }
    this.#update();
  }

  /**
   * @param {HTMLElement} host
   * @param {Row[]} rows in their order
   */
  #place(host, rows) {
    if (rows.some(({ row }, i) => host.children[i] !== row))
      host.append(...rows.map(({ row }) => row));
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
    }
    this.#update();
    this.changed(this.input.value);
  }

  repaint() {
    for (const { row, fit } of this.rows.values())
      partOf(row, "svg").replaceWith(this.swatch(...fit.runs));
  }

  /** @param {Fit} fit */
  #add(fit) {
    const box = el("input", { type: "checkbox" });
    box.addEventListener("change", () => this.check(fit.runs, box.checked));
    const name = el("span", { class: "nbt-run-name" });
    const label = el("span", { class: "nbt-soft", "data-role": "labels", hidden: "" });
    const row = el("label", {
      class: "nbt-run",
      title: fit.runs.length > 1 ? fit.runs.join("\n") : fit.name,
      "data-run": fit.name,
      children: [box, this.swatch(...fit.runs), name, label],
    });
    row.addEventListener("pointerenter", () => this.highlight(fit.lead));
    row.addEventListener("pointerleave", () => this.highlight(null));
    this.rows.set(fit.lead, { row, fit, box, name, label });
    this.list.append(row);
  }

  /**
   * Returns whether a run of a fit matches the filter.
   * @param {Fit} fit
   */
  #isListed({ runs }) {
    return runs.some((run) => this.matches(run));
  }

  /** @param {boolean} on */
  #checkShown(on) {
    const shown = [...this.rows.values()].flatMap(({ fit }) => fit.runs);
    this.check(
      shown.filter((run) => this.matches(run)),
      on,
    );
  }

  #fit() {
    const { matches } = filter(this.input.value);
    this.matches = (run) =>
      matches(run) ||
      (this.names.get(run) ?? []).some(matches) ||
      (this.labels[run] ?? []).some((label) => matches(`#${label}`));
    this.#check();
    for (const { row, fit } of this.rows.values()) row.hidden = !this.#isListed(fit);
    this.#update();
  }

  // Shows what is wrong with the two regular expressions.
  #check() {
    const errors = [this.input, this.colourBy].map((input) => {
      const { error } = filter(input.value);
      input.setAttribute("aria-invalid", String(error !== null));
      return error;
    });
    say(this.problem, errors.find((error) => error !== null) ?? null);
  }

  #update() {
    let drawn = 0;
    for (const { box, fit } of this.rows.values()) {
      const on = fit.runs.filter((run) => !this.off.has(run)).length;
      box.checked = on > 0;
      box.indeterminate = on > 0 && on < fit.runs.length;
      drawn += Number(fit.runs.some((run) => this.has(run)));
    }
    this.count.textContent = `${drawn} of ${this.rows.size} runs`;
  }
}

/**
 * For each run of a fit, the fit's whole name and its name without the common folder.
 * @param {Fit} fit
 * @param {string} folder
 * @returns {[run: string, names: [string, string]][]}
 */
function namesOf({ name, runs }, folder) {
  const shown = name.startsWith(folder) ? name.slice(folder.length) : name;
  return runs.map((run) => [run, [name, shown]]);
}
