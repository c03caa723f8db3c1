// The words of parallel coordinates: above each axis its name, and how they are used.

import { button, el } from "../../shared/dom.js";

/** @import { HparamsColumn } from "../pages/hparams_page.js" */
/** @import { ValueAxis } from "./value_axis.js" */

/**
 * The head of an axis; left: where the axis stands; toggle: makes it logarithmic, or not any more.
 * @param {HparamsColumn} column
 * @param {ValueAxis} axis
 * @param {{left: number, toggle: () => void}} how
 */
export function headOf({ id, text }, { canLog, scale }, { left, toggle }) {
  const name = el("span", { text, title: text });
  const how = { text: "log", title: "Logarithmic scale", "aria-label": `log ${text}` };
  const log = button({ ...how, "aria-pressed": String(scale === "log") }, toggle);
  log.hidden = !canLog;
  const head = el("div", { "data-axis": id, children: [name, log] });
  head.style.left = `${left}px`;
  return head;
}

/**
 * The words beside parallel coordinates. most: how many axes there may be; lacking: true if a run has
 * no value of a column.
 * @param {{columns: number, rows: number, most: number, lacking: boolean}} of
 */
export function wordsOf({ columns, rows, most, lacking }) {
  if (!rows) return "No run matches the filter.";
  if (!columns) return "No column is selected: see Columns.";
  const none = lacking ? " The number after – below an axis counts the runs without a value." : "";
  const words = `Drag along an axis to filter runs; click it to clear the filter.${none}`;
  return columns > most ? `The first ${most} of ${columns} columns. ${words}` : words;
}
