// A table that is sorted by its headings.

import { shown, sorted, whole } from "./cells.js";
import { button, el, scroller } from "../../shared/dom.js";
import { getOrMake } from "../../shared/collections.js";

/** @import { Value } from "./cells.js" */

/**
 * A column of a table.
 * @template Row
 * @typedef {object} TableColumn
 * @property {string} id
 * @property {string} text
 * @property {string} group the heading that several columns have in common
 * @property {boolean} [numeric]
 * @property {string} [look] the classes of its cells
 * @property {boolean} [down] whether the highest values come first
 * @property {(row: Row) => Value} valueOf
 * @property {(value: Value) => string} [textOf]
 * @property {(row: Row) => Node[]} [nodesOf] makes a cell that is more than its value
 */

const AT_FIRST = 25; // rows; each click on "more" doubles them

/** @template Row */
export class SortTable {
  /** @param {string} label */
  constructor(label) {
    /** @type {TableColumn<Row>[]} */
    this.columns = [];
    /** @type {Row[]} */
    this.rows = [];
    /** @type {{id: string, down: boolean} | null} */
    this.by = null; // the column to sort by
    this.most = AT_FIRST;
    this.heading = "";
    /** @type {Map<Row, HTMLElement>} */
    this.made = new Map();
    /** @type {Row | null} */
    this.marked = null;
    /** @type {HTMLElement[]} */
    this.heads = [];
    this.head = el("thead");
    this.body = el("tbody");
    this.more = button({ class: "nbt-more" }, () => {
      this.most *= 2;
      this.#fill();
    });
    const table = el("table", { children: [this.head, this.body] });
    this.root = scroller("nbt-sheet", label, [table, this.more], { sideways: true });
  }

  /**
   * @param {TableColumn<Row>[]} columns
   * @param {Row[]} rows
   */
  show(columns, rows) {
    columns = columns.map((column, i) => ({ ...column, look: lookOf(column, columns[i - 1]) }));
    const heading = JSON.stringify(
      columns.map(({ id, text, group, look }) => [id, text, group, look]),
    );
    this.columns = columns;
    this.rows = rows;
    this.made.clear();
    if (this.heading !== heading) {
      this.heading = heading;
      this.#makeHead();
    }
    this.#showOrder();
    this.#fill();
  }

  /**
   * Shows other rows in the same columns; the elements of rows that stay are kept.
   * @param {Row[]} rows
   */
  choose(rows) {
    this.rows = rows;
    this.#fill();
  }

  /**
   * Marks a row; null marks none.
   * @param {Row | null} row
   */
  mark(row) {
    if (this.marked !== null) this.#showMark(this.marked, false);
    this.marked = row;
    const at = row === null ? -1 : this.ordered().indexOf(row);
    if (row === null || at < 0) return;
    while (this.most <= at) this.most *= 2;
    this.#fill();
    this.#showMark(row, true);
  }

  /**
   * @param {Row} row
   * @param {boolean} marked
   */
  #showMark(row, marked) {
    const node = this.made.get(row);
    node?.classList.toggle("nbt-marked", marked);
    if (marked) node?.setAttribute("aria-current", "true");
    else node?.removeAttribute("aria-current");
  }

  /**
   * Puts rows in order.
   * @param {Row[]} [rows]
   */
  ordered(rows = this.rows) {
    const { by } = this;
    const column = this.columns.find(({ id }) => id === by?.id);
    return by && column ? sorted(rows, column.valueOf, by.down) : rows;
  }

  #fill() {
    const rows = this.ordered();
    const shown = rows.slice(0, this.most).map((row) => this.#row(row));
    const { children } = this.body;
    if (shown.length !== children.length || shown.some((row, i) => row !== children[i]))
      this.body.replaceChildren(...shown);
    this.more.hidden = rows.length <= this.most;
    this.more.textContent = `${(rows.length - this.most).toLocaleString("en")} more`;
  }

  /** @param {Row} row */
  #row(row) {
    return getOrMake(this.made, row, () => {
      const cells = this.columns.map((column, i) => cellOf(column, row, i === 0));
      return el("tr", { children: cells });
    });
  }

  #makeHead() {
    /** @type {{group: string, size: number}[]} */
    const groups = [];
    for (const { group } of this.columns) {
      const last = groups.at(-1);
      if (last?.group === group) last.size++;
      else groups.push({ group, size: 1 });
    }
    const above = groups.map(({ group, size }, i) =>
      el(group ? "th" : "td", {
        ...(group && { scope: "colgroup" }),
        class: i ? "nbt-begins" : "",
        colspan: size,
        text: group,
      }),
    );
    this.heads = this.columns.map((column) => this.#heading(column));
    const row = el("tr", { children: this.heads });
    this.head.replaceChildren(
      ...(groups.length > 1 ? [el("tr", { class: "nbt-sheet-groups", children: above })] : []),
      row,
    );
  }

  /** @param {TableColumn<Row>} column */
  #heading({ id, text, look, down = false }) {
    const name = button({ title: text, children: [el("span", { text })] }, () => {
      this.by = { id, down: this.by?.id === id ? !this.by.down : down };
      this.most = AT_FIRST;
      this.#showOrder();
      this.#fill();
    });
    return el("th", { scope: "col", class: look, "data-column": id, children: [name] });
  }

  #showOrder() {
    this.columns.forEach(({ id }, i) => {
      const order = this.by?.id !== id ? "none" : this.by.down ? "descending" : "ascending";
      this.heads[i].setAttribute("aria-sort", order);
    });
  }
}

/**
 * @template Row
 * @param {TableColumn<Row>} column
 * @param {Row} row
 * @param {boolean} first
 */
function cellOf({ valueOf, nodesOf, textOf = shown, look }, row, first) {
  if (nodesOf)
    return el(first ? "th" : "td", {
      ...(first ? { scope: "row" } : {}),
      class: look,
      children: nodesOf(row),
    });
  const value = valueOf(row);
  return el("td", { class: look, title: whole(value), text: textOf(value) });
}

/**
 * @param {Pick<TableColumn<unknown>, "group" | "numeric">} column
 * @param {Pick<TableColumn<unknown>, "group"> | undefined} before
 */
function lookOf({ numeric, group }, before) {
  return [numeric && "nbt-number", before && before.group !== group && "nbt-begins"]
    .filter(Boolean)
    .join(" ");
}
