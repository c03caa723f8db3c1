// The tasks of a cluster: one line, and below it, when opened, a row for each task.

import { el, partOf, say } from "../shared/dom.js";

/** @import { Status, TaskRow } from "../protocol.d.ts" */

const HEADINGS = ["task", "state", "sign of life", "end of its log"];

export class Tasks {
  constructor() {
    this.summary = el("summary", { "data-role": "tasks" });
    this.body = el("tbody");
    this.more = el("div", { class: "nbt-notice" });
    this.heads = HEADINGS.map((text) => el("th", { text, scope: "col" }));
    const head = el("thead", { children: [el("tr", { children: this.heads })] });
    const table = el("table", { children: [head, this.body] });
    this.root = el("details", {
      class: "nbt-tasks",
      children: [this.summary, el("div", { class: "nbt-scroll", children: [table] }), this.more],
    });
    this.shown = "";
  }

  /** @param {Partial<Status>} status */
  show({ tasks }) {
    this.root.hidden = !tasks;
    if (!tasks) return;
    say(this.summary, tasks.summary);
    say(this.more, tasks.more);
    const rows = JSON.stringify(tasks.rows);
    if (rows === this.shown) return;
    this.shown = rows;
    const logs = this.#openLogs();
    this.body.replaceChildren(...tasks.rows.map((row) => line(row, logs.has(row[0]))));
    this.#hideEmpty(tasks.rows);
  }

  /**
   * Hides columns without any text.
   * @param {TaskRow[]} rows
   */
  #hideEmpty(rows) {
    this.heads.forEach((head, i) => {
      const empty = rows.every((row) => row[i] === "");
      for (const row of this.body.children) row.children[i].toggleAttribute("hidden", empty);
      head.hidden = empty;
    });
  }

  #openLogs() {
    const open = this.body.querySelectorAll("tr:has(details[open])");
    return new Set([...open].map((row) => partOf(row, "th").textContent));
  }
}

/**
 * @param {TaskRow} row
 * @param {boolean} open whether its log is open
 */
function line([name, state, sign, log], open) {
  const cells = [state, sign].map((text) => el("td", { text }));
  const head = el("th", { text: name, scope: "row" });
  const row = el("tr", { children: [head, ...cells, el("td", { children: printed(log, open) })] });
  row.dataset.state = state;
  return row;
}

/**
 * The last line that a task has printed, which opens those before it.
 * @param {string} log
 * @param {boolean} open
 */
function printed(log, open) {
  const lines = log.split("\n");
  if (lines.length === 1) return [log];
  const last = el("summary", { text: lines.at(-1) });
  const all = el("details", { children: [last, el("pre", { text: log })] });
  all.open = open;
  return [all];
}
