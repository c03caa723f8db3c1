// The colours of runs: one for each, or by a hyperparameter or a metric, with a legend.

import { el, labelled } from "../../shared/dom.js";
import { getOrMake, get } from "../../shared/collections.js";
import { shown, whole } from "../table/cells.js";
import { axisOf, placeOf } from "./value_axis.js";

/** @import { HparamsColumn, HparamsHost, HparamsRow } from "../pages/hparams_page.js" */
/** @import { Value } from "../table/cells.js" */
/** @import { ValueAxis } from "./value_axis.js" */

const STEPS = 32; // the number of different colours; lines of one colour are drawn together
const RUN = "run"; // not an id of a column, which contains a space
const NAMED = 12; // values in the legend

export class Colouring {
  /**
   * @param {HparamsHost} host
   * @param {() => void} changed
   */
  constructor(host, changed) {
    this.host = host;
    /** @type {string | null} */
    this.chosen = null; // the id of a column, or RUN; null until the user chooses
    /** @type {{column: HparamsColumn, axis: ValueAxis} | null} */
    this.by = null; // the column that sets the colours; null: each run has its own
    this.select = el("select", { "aria-label": "colour", "data-role": "colour" });
    this.select.addEventListener("change", () => {
      this.chosen = this.select.value;
      changed();
    });
    this.legend = el("span", { class: "nbt-ramp", "data-role": "colours" });
    this.root = el("span", {
      class: "nbt-field",
      children: [labelled("colour", this.select), this.legend],
    });
  }

  /**
   * Lists the columns, the metrics first.
   * @param {HparamsColumn[]} columns
   */
  show(columns) {
    const [metrics, hparams] = [true, false].map((wanted) =>
      columns.filter(({ isMetric }) => isMetric === wanted),
    );
    const offered = [...metrics, ...hparams];
    this.select.replaceChildren(
      el("option", { value: RUN, text: "run" }),
      ...offered.map(({ id, text }) => el("option", { value: id, text })),
    );
    const wanted = this.chosen ?? metrics[0]?.id ?? RUN;
    const column = offered.find(({ id }) => id === wanted);
    this.by = column ? { column, axis: axisOf(column.values) } : null;
    this.select.value = column?.id ?? RUN;
    this.#drawLegend();
  }

  get column() {
    return this.by?.column;
  }

  /** @param {HparamsRow} row */
  of(row) {
    const { board } = this.host;
    if (!this.by) return board.styleOf(this.host.runsOf(row)[0] ?? row.run).colour;
    const { column, axis } = this.by;
    const value = column.valueOf(row);
    const place = placeOf(axis, value);
    const { gone, ramp } = board.paint();
    if (place === null) return gone;
    return axis.scale === "values" ? this.#colourOf(axis, value) : colourAt(ramp, place);
  }

  /**
   * The rows of each colour, in the order in which they are drawn: the best of a metric last.
   * @param {HparamsRow[]} rows
   */
  shades(rows) {
    const { by } = this;
    const placed = rows.map((row) => ({
      row,
      at: by ? placeOf(by.axis, by.column.valueOf(row)) : 0,
    }));
    const way = !by || by.column.down ? 1 : -1;
    /** @param {number | null} at */
    const order = (at) => (at === null ? -Infinity : way * at);
    if (by)
      placed.sort((one, other) => {
        const [left, right] = [order(one.at), order(other.at)];
        return left < right ? -1 : Number(left > right);
      });
    /** @type {Map<string, HparamsRow[]>} */
    const found = new Map();
    for (const { row } of placed) getOrMake(found, this.of(row), () => []).push(row);
    return found;
  }

  /**
   * @param {ValueAxis} axis
   * @param {Value} value
   */
  #colourOf({ places }, value) {
    const { colours } = this.host.board.paint();
    return colours[get(places, value) % colours.length];
  }

  #drawLegend() {
    const axis = this.by?.axis;
    const { ramp } = this.host.board.paint();
    if (!axis) return this.legend.replaceChildren();
    if (axis.scale === "values") {
      const values = [...axis.places.keys()];
      const more =
        values.length > NAMED ? [el("span", { text: `and ${values.length - NAMED} more` })] : [];
      return this.legend.replaceChildren(
        ...values.slice(0, NAMED).map((value) => this.#sample(axis, value)),
        ...more,
      );
    }
    const bar = el("span", { class: "nbt-ramp-bar" });
    bar.style.background = `linear-gradient(to right, ${ramp.join(", ")})`;
    const [low, high] = [axis.low, axis.high].map((value) => el("span", { text: shown(value) }));
    const log = axis.scale === "log" ? [el("span", { text: "log" })] : [];
    this.legend.replaceChildren(low, bar, high, ...log);
  }

  /**
   * @param {ValueAxis} axis
   * @param {Value} value
   */
  #sample(axis, value) {
    const dot = el("span", { class: "nbt-ramp-dot" });
    dot.style.background = this.#colourOf(axis, value);
    return el("span", { children: [dot, whole(value) || "empty"] });
  }
}

/**
 * The colour of a place from 0 to 1 among colours like #1a6fb0.
 * @param {string[]} stops
 * @param {number} place
 */
export function colourAt(stops, place) {
  const at = (stepAt(place) / (STEPS - 1)) * (stops.length - 1);
  const i = Math.min(stops.length - 2, Math.floor(at));
  const [low, high] = [stops[i], stops[i + 1]].map(channels);
  const mixed = low.map((value, c) => Math.round(value + (high[c] - value) * (at - i)));
  return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

/** @param {number} place */
function stepAt(place) {
  return Math.min(STEPS - 1, Math.max(0, Math.round(place * (STEPS - 1))));
}

/** @param {string} colour */
function channels(colour) {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}
