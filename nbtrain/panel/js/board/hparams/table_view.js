// The table of the hyperparameters: a row for each run, with its metrics beside.

import { el } from "../../shared/dom.js";
import { duration } from "../../shared/format.js";
import { SortTable } from "../table/sort_table.js";

/** @import { HparamsHost, HparamsRow, HparamsShown, HparamsView } from "../pages/hparams_page.js" */
/** @import { TableColumn } from "../table/sort_table.js" */

/** @type {Record<string, string>} */
const SIGNS = { running: "●", success: "✓", failure: "✗" };

/** @type {TableColumn<HparamsRow>[]} */
const ABOUT = [
  {
    id: "duration",
    text: "duration",
    group: "",
    numeric: true,
    valueOf: ({ about }) => about?.secs ?? null,
    textOf: (secs) => (typeof secs === "number" ? duration(secs) : "–"),
  },
  {
    id: "tags",
    text: "tags",
    group: "",
    valueOf: ({ about }) => about?.tags.join(", ") || null,
  },
  {
    id: "note",
    text: "last note",
    group: "",
    valueOf: ({ about }) => about?.notes.at(-1) ?? null,
  },
];

/**
 * The columns with what is known of the runs beside their hyperparameters: those that have a value.
 * @param {HparamsRow[]} rows
 */
export function aboutColumns(rows) {
  return ABOUT.filter(({ valueOf }) => rows.some((row) => valueOf(row) !== null));
}

/** @implements {HparamsView} */
export class TableView {
  /** @param {HparamsHost} host */
  constructor(host) {
    this.host = host;
    /** @type {Map<HparamsRow, HTMLInputElement>} */
    this.boxes = new Map();
    /** @type {HparamsRow[]} */
    this.rows = [];
    /** @type {string | null} */
    this.marked = null;
    this.look = "";
    /** @type {SortTable<HparamsRow>} */
    this.table = new SortTable("hyperparameters and metrics");
    this.root = this.table.root;
  }

  /** @param {HparamsShown} shown */
  show({ columns, rows, chosen, marked }) {
    const { paint } = this.host.board;
    const look = JSON.stringify([
      columns.map(({ id }) => id),
      rows.map((row) => this.host.runsOf(row)),
      paint(),
    ]);
    const other = rows.length !== this.rows.length || rows.some((row, i) => row !== this.rows[i]);
    if (this.look !== look || other) {
      this.look = look;
      this.rows = rows;
      this.boxes.clear();
      this.table.show([...this.#fixed(), ...columns, ...aboutColumns(rows)], chosen);
    } else this.table.choose(chosen);
    this.#mark(marked);
    for (const [row, box] of this.boxes) box.checked = this.#drawn(row);
  }

  close() {}

  /**
   * Rows in the order of the table.
   * @param {HparamsRow[]} rows
   */
  ordered(rows) {
    return this.table.ordered(rows);
  }

  /** @param {string | null} marked */
  #mark(marked) {
    const row = this.rows.find(({ run }) => run === marked) ?? null;
    if (row !== this.table.marked) this.table.mark(row);
  }

  /** @param {HparamsRow} row */
  #drawn(row) {
    return this.host.runsOf(row).some((run) => !this.host.board.runs.off.has(run));
  }

  /** @returns {TableColumn<HparamsRow>[]} */
  #fixed() {
    return [
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
            class: "nbt-status",
            "data-status": status,
            text: `${SIGNS[status] ?? "–"} ${status}`,
          }),
        ],
      },
    ];
  }

  /** @param {HparamsRow} row */
  #name(row) {
    const runs = this.host.runsOf(row);
    const title = this.host.board.connection.titleOf(row.run);
    const box = el("input", { type: "checkbox", "aria-label": `draw ${title}` });
    Object.assign(box, { checked: this.#drawn(row), disabled: !runs.length });
    this.boxes.set(row, box);
    box.addEventListener("change", () => this.host.check([row], box.checked));
    const label = [
      box,
      this.host.board.swatch(runs[0] ?? row.run),
      el("span", { text: this.host.board.nameOf(row.run), title }),
    ];
    return [el("label", { class: "nbt-run", "data-session": row.run, children: label })];
  }
}
