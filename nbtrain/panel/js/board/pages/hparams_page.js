// The page of the hyperparameters: a row for each run, with its metrics.

import { csv, decoded, isNumeric } from "../table/cells.js";
import { el, say, unfolding } from "../../shared/dom.js";
import { download } from "../download.js";
import { HparamsFilters } from "../table/hparams_filters.js";
import { Latest } from "../latest.js";
import { runsOf } from "../table/sessions.js";
import { SortTable } from "../table/sort_table.js";
import { number } from "../../shared/format.js";

/** @import { Board, Chosen, HparamsRow, Page, Reply, TableColumn, Value } from "../../types.d.ts" */

/** @typedef {TableColumn<HparamsRow> & {values: Value[]}} Column With the values of all rows. */

const HPARAMS = "hyperparameters";
const METRICS = "metrics";
const MOST = 100; // columns that are shown
/** @type {Record<string, string>} */
const SIGNS = { running: "●", success: "✓", failure: "✗" };

export class HparamsPage {
  /** @param {Board} board */
  constructor(board) {
    this.board = board;
    /** @type {Set<string>} */
    this.hidden = new Set(); // columns, by their ids
    /** @type {Column[]} */
    this.columns = [];
    /** @type {HparamsRow[]} */
    this.rows = [];
    /** @type {HparamsRow[]} */
    this.shown = [];
    /** @type {Map<string, string[]>} */
    this.runs = new Map(); // of each session
    /** @type {Map<HparamsRow, HTMLInputElement>} */
    this.boxes = new Map();
    this.version = 0;
    this.look = "";
    /** @type {Chosen} */
    this.fits = () => true;
    this.latest = new Latest(board.connection, ({ content }) => this.#take(content));
    this.filters = new HparamsFilters(() => this.#choose());
    /** @type {SortTable<HparamsRow>} */
    this.table = new SortTable("hyperparameters and metrics");
    this.problem = el("div", { class: "nbt-problem", role: "status", hidden: "" });
    this.left = el("div", { class: "nbt-notice", role: "status", hidden: "" });
    this.count = el("span", { class: "nbt-soft", role: "status", "data-role": "row-count" });
    this.chooser = el("div", {
      class: "nbt-filters nbt-chooser",
      "data-role": "columns",
      hidden: "",
    });
    const file = el("button", {
      type: "button",
      text: "CSV",
      title: "Download the rows and columns that are shown",
      "data-act": "CSV",
    });
    file.addEventListener("click", () => this.#download());
    this.all = el("input", {
      type: "checkbox",
      "aria-label": "draw all runs of the table",
      title: "Draw all runs of the table, or none",
    });
    this.all.addEventListener("change", () => this.#check(this.shown, this.all.checked));
    const all = el("label", { class: "nbt-field", children: [this.all, this.count] });
    const line = el("div", {
      class: "nbt-sheet-tools",
      children: [all, this.filters.button, unfolding("Columns", this.chooser), file],
    });
    this.root = el("div", {
      class: "nbt-page",
      "data-role": "hparams",
      children: [line, this.filters.root, this.chooser, this.problem, this.left, this.table.root],
    });
  }

  /** @type {Page["show"]} */
  show(index, _chosen, fits) {
    this.index = index;
    this.fits = fits;
    this.latest.want({ t: "hparams" }, index.version);
    return this.#draw();
  }

  point() {}

  retheme() {
    this.#draw();
  }

  close() {
    this.table.close();
  }

  /** @param {Reply["content"]} content */
  #take(content) {
    if (content.t === "refused") say(this.problem, content.text);
    if (content.t !== "hparams") return;
    say(this.problem, content.words.join("\n"));
    this.version++;
    this.rows = content.rows.map((row) => ({ ...row, values: row.values.map(decoded) }));
    this.columns = [
      ...content.hparams.map((name, i) => this.#column(HPARAMS, name, i)),
      ...content.metrics.map((name, i) => ({
        ...this.#column(METRICS, name, content.hparams.length + i),
        down: content.higher[i],
        textOf: metric,
      })),
    ];
    this.filters.show(this.columns.filter(({ group }) => group === HPARAMS));
    this.#fillChooser();
    this.board.draw(); // with it this page, and how many columns there are
  }

  /**
   * @param {string} group
   * @param {string} name
   * @param {number} i
   * @returns {Column}
   */
  #column(group, name, i) {
    const values = this.rows.map((row) => row.values[i]);
    const id = `${group} ${name}`;
    const numeric = isNumeric(values);
    return { id, text: name, group, values, numeric, valueOf: (row) => row.values[i] };
  }

  // Builds the table of the chosen columns; returns their number in words.
  #draw() {
    const fitting = this.columns.filter(({ id, text }) => !this.hidden.has(id) && this.fits(text));
    const wanted = fitting.slice(0, MOST);
    say(
      this.left,
      fitting.length > MOST
        ? `The first ${MOST} of ${fitting.length.toLocaleString("en")} columns are shown: the filter of tags finds the others.`
        : "",
    );
    /** @type {TableColumn<HparamsRow>[]} */
    const fixed = [
      {
        id: "run",
        text: "run",
        group: "",
        valueOf: ({ run }) => run,
        nodesOf: (row) => this.#name(row),
      },
      {
        id: "status",
        text: "status",
        group: "",
        valueOf: ({ status }) => status,
        nodesOf: ({ status }) => [
          el("span", {
            class: `nbt-status nbt-${status}`,
            text: `${SIGNS[status] ?? "–"} ${status}`,
          }),
        ],
      },
    ];
    this.runs = runsOf(
      this.rows.map(({ run }) => run),
      this.index.runs,
    );
    this.#select();
    const look = JSON.stringify([
      this.version,
      wanted.map(({ id }) => id),
      [...this.runs],
      this.board.paint(),
    ]);
    if (this.look !== look) {
      this.look = look;
      this.boxes.clear();
      this.table.show([...fixed, ...wanted], this.shown);
    }
    this.#choose();
    return `${wanted.length} of ${this.columns.length} columns`;
  }

  // Shows the rows that match the filters.
  #choose() {
    this.#select();
    this.table.choose(this.shown);
    this.#tell();
  }

  #select() {
    const places = new Map(this.columns.map(({ id, valueOf }) => [id, valueOf]));
    this.shown = this.rows.filter(
      (row) =>
        [row.run, ...this.runs.get(row.run)].some((name) => this.board.runs.fits(name)) &&
        this.filters.fits((id) => places.get(id)?.(row) ?? null),
    );
  }

  #tell() {
    for (const [row, box] of this.boxes) box.checked = this.#drawn(row);
    this.count.textContent = `${this.shown.length.toLocaleString("en")} of ${this.rows.length.toLocaleString("en")} runs`;
    const drawn = this.shown.filter((row) => this.#drawn(row)).length;
    this.all.checked = drawn > 0 && drawn === this.shown.length;
    this.all.indeterminate = drawn > 0 && drawn < this.shown.length;
  }

  /** @param {HparamsRow} row */
  #drawn({ run }) {
    return this.runs.get(run).some((each) => !this.board.runs.off.has(each));
  }

  /**
   * @param {HparamsRow[]} rows
   * @param {boolean} on
   */
  #check(rows, on) {
    this.board.runs.check(
      rows.flatMap(({ run }) => this.runs.get(run)),
      on,
    );
  }

  /** @param {HparamsRow} row */
  #name(row) {
    const runs = this.runs.get(row.run);
    const box = el("input", { type: "checkbox", "aria-label": `draw ${row.run}` });
    Object.assign(box, { checked: this.#drawn(row), disabled: !runs.length });
    this.boxes.set(row, box);
    box.addEventListener("change", () => this.#check([row], box.checked));
    const label = [
      box,
      this.board.swatch(runs[0] ?? row.run),
      el("span", { text: row.run, title: row.run }),
    ];
    return [el("label", { class: "nbt-run", "data-session": row.run, children: label })];
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
    return el("label", { class: "nbt-choice", title: text, children: [box, el("span", { text })] });
  }

  #download() {
    const { columns } = this.table;
    const rows = this.table.ordered().map((row) => columns.map(({ valueOf }) => valueOf(row)));
    download(
      new Blob([csv([columns.map(({ text }) => text), ...rows])], { type: "text/csv" }),
      "hparams",
      ".csv",
    );
  }
}

/** @param {Value} value */
function metric(value) {
  return value === null ? "–" : number(Number(value));
}
