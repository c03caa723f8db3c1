// The tip of a run: its name and its values.

import { el } from "../../shared/dom.js";
import { shown } from "../table/cells.js";

/** @import { HparamsColumn, HparamsHost, HparamsRow } from "../pages/hparams_page.js" */

/**
 * @param {HparamsRow} row
 * @param {HparamsColumn[]} columns
 * @param {HparamsHost} host
 */
export function tipOf(row, columns, host) {
  const { board } = host;
  const name = el("b", { text: board.nameOf(row.run) });
  const head = [board.swatch(host.runsOf(row)[0] ?? row.run), name];
  return [
    el("div", { class: "nbt-tip-row", children: head }),
    ...columns.map((column) =>
      el("div", {
        class: "nbt-tip-row nbt-tip-value",
        children: [
          el("span", { class: "nbt-soft", text: column.text }),
          el("span", { text: (column.textOf ?? shown)(column.valueOf(row)) }),
        ],
      }),
    ),
  ];
}
