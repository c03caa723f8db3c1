// The page of the runs' hyperparameters and metrics: a table, parallel coordinates and scatter plots.

import { csv, decoded, isNumeric } from "../table/cells.js";
import { button, el, labelled, say, unfolding } from "../../shared/dom.js";
import { download } from "../download.js";
import { HparamsFilters } from "../table/hparams_filters.js";
import { Latest } from "../latest.js";
import { ParallelView } from "../hparams/parallel_view.js";
import { runsOf } from "../table/sessions.js";
import { ScatterView } from "../hparams/scatter_view.js";
import { aboutColumns, TableView } from "../hparams/table_view.js";
import { Tabs } from "../tabs.js";
import { number } from "../../shared/format.js";
import { getOrMake } from "../../shared/collections.js";

/** @import { HparamsView as Name } from "../choices.js" */
/** @import { Hparams } from "../../protocol.d.ts" */
/** @import { Board } from "../board.js" */
/** @import { Contents, Reply } from "../board_connection.js" */
/** @import { Value } from "../table/cells.js" */
/** @import { TableColumn } from "../table/sort_table.js" */
/** @import { NameTest } from "../tags.js" */
/** @import { Page } from "./pages.js" */

/**
 * A row of the hyperparameters, its values decoded.
 * @typedef {Omit<Hparams["rows"][number], "values"> & {values: Value[]}} HparamsRow
 */

/**
 * A hyperparameter or a metric, with the values of all rows.
 * @typedef {TableColumn<HparamsRow> & {values: Value[], isMetric: boolean}} HparamsColumn
 */

/**
 * The contents of the views of the hyperparameters.
 * @typedef {object} HparamsShown
 * @property {HparamsColumn[]} columns the visible columns
 * @property {HparamsRow[]} rows the rows of the runs that match the filter of runs
 * @property {HparamsRow[]} chosen those of them that match the filters of values
 * @property {string | null} marked the run whose row is marked
 */

/**
 * The part of the page that the views of the hyperparameters use.
 * @typedef {object} HparamsHost
 * @property {Board} board
 * @property {HparamsFilters} filters
 * @property {(run: string | null) => void} mark marks a run, or unmarks a marked one
 * @property {(row: HparamsRow) => string[]} runsOf the runs of a row: see sessions.js
 * @property {(rows: HparamsRow[], on: boolean) => void} check
 */

/**
 * A view of the hyperparameters.
 * @typedef {object} HparamsView
 * @property {HTMLElement} root
 * @property {(shown: HparamsShown) => void} show
 * @property {(row: HparamsRow | null) => void} [highlight] highlights a run; null highlights none
 * @property {() => void} close
 */

const HPARAMS = "hyperparameters";
const METRICS = "metrics";
const MOST = 100; // columns that are shown
/** @type {Record<Name, [label: string, Kind: new (host: HparamsHost) => HparamsView]>} */
const VIEWS = {
  table: ["Table", TableView],
  parallel: ["Parallel coordinates", ParallelView],
  scatter: ["Scatter", ScatterView],
};

/** @implements {HparamsHost} */
export class HparamsPage {
  /** @type {Contents | null} */
  index = null;
  count = el("span", { class: "nbt-soft", role: "status", "data-role": "row-count" });
  all = el("input", {
    type: "checkbox",
    "aria-label": "draw all runs in the table",
    title: "Draw all runs in the table, or none",
  });
  unmark = button(
    { title: "The marked run: click to unmark it", "data-role": "marked", hidden: "" },
    () => this.mark(null),
  );
  /** @type {Set<string>} */
  hidden = new Set(); // columns, by their ids
  /** @type {HparamsColumn[]} */
  columns = [];
  /** @type {HparamsRow[]} */
  rows = [];
  /** @type {HparamsShown} */
  shown = { columns: [], rows: [], chosen: [], marked: null };
  /** @type {Map<string, string[]>} */
  runs = new Map(); // of each session
  /** @type {Map<string, HparamsView>} */
  views = new Map();
  /** @type {NameTest} */
  matches = () => true;
  problem = el("div", { class: "nbt-problem", role: "status", hidden: "" });
  left = el("div", { class: "nbt-notice", role: "status", hidden: "" });
  chooser = el("div", {
    class: "nbt-filters nbt-chooser",
    "data-role": "columns",
    hidden: "",
  });
  front = el("div", { class: "nbt-view" });

  /** @param {Board} board */
  constructor(board) {
    this.board = board;
    this.latest = new Latest(board.connection, ({ content }) => this.#take(content));
    this.filters = new HparamsFilters(() => this.#choose());
    this.tabs = new Tabs(
      (name) => board.choices.choose({ hparams: /** @type {Name} */ (name) }),
      "views of the hyperparameters",
    );
    this.root = el("div", {
      class: "nbt-page",
      "data-role": "hparams",
      children: [
        this.tabs.root,
        this.#tools(),
        this.filters.root,
        this.chooser,
        this.problem,
        this.left,
        this.front,
      ],
    });
  }

  /** @type {Page["show"]} */
  show(index, _chosen, matches) {
    this.index = index;
    this.matches = matches;
    this.latest.want({ t: "hparams" }, index.version);
    return this.#draw();
  }

  /** @type {Page["highlight"]} */
  highlight(run) {
    const row = this.shown.chosen.find((each) => run !== null && this.runsOf(each).includes(run));
    this.views.get(this.board.choices.values.hparams)?.highlight?.(row ?? null);
  }

  retheme() {
    if (this.index) this.#draw();
  }

  close() {
    this.tabs.close();
    this.views.forEach((view) => view.close());
  }

  // --- what its views call

  /** @type {HparamsHost["mark"]} */
  mark(run) {
    this.shown.marked = this.shown.marked === run ? null : run;
    this.#choose();
  }

  /** @type {HparamsHost["runsOf"]} */
  runsOf({ run }) {
    return this.runs.get(run) ?? [];
  }

  /** @type {HparamsHost["check"]} */
  check(rows, on) {
    this.board.runs.check(
      rows.flatMap((row) => this.runsOf(row)),
      on,
    );
  }

  /** @param {Reply["content"]} content */
  #take(content) {
    if (content.t === "refused") say(this.problem, content.text);
    if (content.t !== "hparams") return;
    say(this.problem, content.words.join("\n"));
    this.rows = content.rows.map((row) => ({ ...row, values: row.values.map(decoded) }));
    this.columns = [
      ...content.hparams.map((name, i) => this.#column(HPARAMS, name, i)),
      ...content.metrics.map((name, i) => ({
        ...this.#column(METRICS, name, content.hparams.length + i),
        down: content.higher[i] === true,
        textOf: metric,
      })),
    ];
    this.#fillChooser();
    this.board.draw(); // also draws this page, and the number of columns
  }

  /**
   * @param {string} group
   * @param {string} name
   * @param {number} i
   * @returns {HparamsColumn}
   */
  #column(group, name, i) {
    const values = this.rows.map((row) => row.values[i]);
    return {
      id: `${group} ${name}`,
      text: name,
      group,
      isMetric: group === METRICS,
      values,
      numeric: isNumeric(values),
      valueOf: (row) => row.values[i],
    };
  }

  // Builds the view of the chosen columns; returns their number in words.
  #draw() {
    const fitting = this.columns.filter(
      ({ id, text }) => !this.hidden.has(id) && this.matches(text),
    );
    const columns = fitting.slice(0, MOST);
    say(
      this.left,
      fitting.length > MOST
        ? `The first ${MOST} of ${fitting.length.toLocaleString("en")} columns are shown: filter the tags to see others.`
        : "",
    );
    this.shown.columns = columns;
    this.runs = runsOf(
      this.rows.map(({ run }) => run),
      this.index?.runs ?? [],
    );
    const metrics = columns.filter(({ isMetric }) => isMetric);
    this.filters.show([...this.columns.filter(({ isMetric }) => !isMetric), ...metrics]);
    this.#choose();
    return `${columns.length} of ${this.columns.length} columns`;
  }

  // Shows the rows that match the filters.
  #choose() {
    const places = new Map(this.columns.map(({ id, valueOf }) => [id, valueOf]));
    const { runs } = this.board;
    const rows = this.rows.filter((row) =>
      [row.run, ...this.runsOf(row)].some((name) => runs.matches(name)),
    );
    const chosen = rows.filter((row) =>
      this.filters.matches((id) => places.get(id)?.(row) ?? null),
    );
    Object.assign(this.shown, { rows, chosen });
    this.#turn().show({ ...this.shown });
    this.#showCounts();
  }

  // Shows and returns the chosen view.
  #turn() {
    const name = this.board.choices.values.hparams;
    const labels = Object.entries(VIEWS).map(([each, [label]]) => [each, label]);
    this.tabs.show(Object.fromEntries(labels), name);
    const view = getOrMake(this.views, name, () => {
      const made = new VIEWS[name][1](this);
      this.tabs.panel(name, made.root);
      return made;
    });
    if (this.front.firstChild !== view.root) this.front.replaceChildren(view.root);
    return view;
  }

  #showCounts() {
    const { rows, chosen, marked } = this.shown;
    const all = this.rows.length.toLocaleString("en");
    this.count.textContent = `${chosen.length.toLocaleString("en")} of ${all} runs`;
    const off = (/** @type {string} */ run) => this.board.runs.off.has(run);
    const drawn = chosen.filter((row) => !this.runsOf(row).every(off)).length;
    this.all.checked = drawn > 0 && drawn === chosen.length;
    this.all.indeterminate = drawn > 0 && drawn < chosen.length;
    const there = marked !== null && rows.some(({ run }) => run === marked);
    say(this.unmark, there ? `◆ ${this.board.nameOf(marked)} ✕` : "");
  }

  #tools() {
    const title = "Download the rows and columns that are shown";
    const file = button({ text: "CSV", title, "data-act": "CSV" }, () => this.#download());
    this.all.addEventListener("change", () => this.check(this.shown.chosen, this.all.checked));
    const all = el("label", { class: "nbt-field", children: [this.all, this.count] });
    const columns = unfolding("Columns", this.chooser);
    const children = [all, this.filters.button, columns, this.unmark, file];
    return el("div", { class: "nbt-sheet-tools", children });
  }

  #fillChooser() {
    this.chooser.replaceChildren(
      ...[HPARAMS, METRICS].map((group) => {
        const boxes = this.columns
          .filter((column) => column.group === group)
          .map(({ id, text }) => this.#box(id, text));
        return el("fieldset", { children: [el("legend", { text: group }), ...boxes] });
      }),
    );
  }

  /**
   * @param {string} id
   * @param {string} text
   */
  #box(id, text) {
    const box = el("input", { type: "checkbox" });
    box.checked = !this.hidden.has(id);
    box.addEventListener("change", () => {
      if (box.checked) this.hidden.delete(id);
      else this.hidden.add(id);
      this.#draw();
    });
    return labelled(text, box, { class: "nbt-choice", title: text });
  }

  #download() {
    const { columns, rows: shown, chosen } = this.shown;
    const all = [...columns, ...aboutColumns(shown)];
    const table = this.views.get("table");
    const rows = table instanceof TableView ? table.ordered(chosen) : chosen;
    const head = ["run", "status", ...all.map(({ text }) => text)];
    const lines = rows.map((row) => [
      row.run,
      row.status,
      ...all.map(({ valueOf }) => valueOf(row)),
    ]);
    download(new Blob([csv([head, ...lines])], { type: "text/csv" }), "hparams", ".csv");
  }
}

/** @param {Value} value */
function metric(value) {
  return value === null ? "–" : number(Number(value));
}
