// Runs side by side: their hyperparameters, the differences, and their results.

import { difference, shown, whole } from "./cells.js";
import { bestStep } from "../charts/run_table.js";
import { button, el, scroller } from "../../shared/dom.js";
import { duration, number } from "../../shared/format.js";

/** @import { Fit } from "../../protocol.d.ts" */
/** @import { Board } from "../board.js" */
/** @import { Comparison } from "./side_by_side.js" */

/**
 * @typedef {object} ComparisonOptions
 * @property {string | null} base the leader of the fit that the others are compared with
 * @property {boolean} same whether equal hyperparameters are shown
 * @property {boolean} extent whether the lowest and highest value and the best step are shown
 */

const NOTES = 5; // the newest notes of a run that are shown
const AT_FIRST = 25; // tags; each click on "more" doubles them

export class CompareTable {
  /** @param {Pick<Board, "swatch" | "nameOf">} board */
  constructor(board) {
    this.board = board;
    this.most = AT_FIRST;
    /** @type {Comparison} */
    this.there = { fits: [], about: [], hparams: [], scalars: [] };
    /** @type {ComparisonOptions} */
    this.options = { base: null, same: false, extent: false };
    this.table = el("table");
    this.more = button({ class: "nbt-more" }, () => {
      this.most *= 2;
      this.show(this.there, this.options);
    });
    this.root = scroller("nbt-sheet", "runs side by side", [this.table, this.more], {
      sideways: true,
    });
  }

  /**
   * @param {Comparison} there
   * @param {ComparisonOptions} options
   */
  show(there, options) {
    this.there = baseFirst(there, options.base);
    this.options = options;
    const { fits, about, hparams, scalars } = this.there;
    const listed = options.same ? hparams : hparams.filter(({ same }) => !same);
    const parts = [
      el("thead", {
        children: [el("tr", { children: [el("td"), ...fits.map((fit) => this.#heading(fit))] })],
      }),
    ];
    parts.push(this.#part("run", aboutRows(about), ""));
    if (hparams.length)
      parts.push(
        this.#part("hyperparameters", listed.map(hparamRow), alike(hparams.length - listed.length)),
      );
    parts.push(
      this.#part(
        "scalars",
        scalars.slice(0, this.most).flatMap((row) => this.#scalarRows(row)),
        "",
      ),
    );
    this.table.replaceChildren(...parts);
    this.more.hidden = scalars.length <= this.most;
    this.more.textContent = `${scalars.length - this.most} more`;
  }

  /** @param {Fit} fit */
  #heading({ lead, name, runs }) {
    const base = lead === this.options.base;
    const text = this.board.nameOf(name);
    const shown = el("span", { class: "nbt-run-name", text, title: name });
    return el("th", {
      scope: "col",
      class: `nbt-number${base ? " nbt-base" : ""}`,
      "data-column": name,
      children: [
        el("div", { class: "nbt-compare-run", children: [this.board.swatch(...runs), shown] }),
        ...(base ? [el("small", { text: "baseline" })] : []),
      ],
    });
  }

  /**
   * @param {string} text
   * @param {HTMLElement[]} rows
   * @param {string} words beside the text
   */
  #part(text, rows, words) {
    const title = [el("span", { text }), ...(words ? [el("small", { text: words })] : [])];
    const head = el("th", {
      scope: "rowgroup",
      colspan: this.there.fits.length + 1,
      children: title,
    });
    return el("tbody", {
      "data-part": text,
      children: [el("tr", { class: "nbt-part", children: [head] }), ...rows],
    });
  }

  /** @param {Comparison["scalars"][number]} scalar */
  #scalarRows({ tag, higher, validates, numbers }) {
    const base = numbers[this.there.fits.findIndex(({ lead }) => lead === this.options.base)];
    /** @param {"last" | "min" | "max"} of */
    const cells = (of) =>
      numbers.map((each) => {
        const more = base && base !== each ? difference(each[of], base[of]) : "";
        return valueCell(each[of], each.points > 0, more);
      });
    const attributes = { "data-tag": tag, ...(validates ? { "data-validation": "" } : {}) };
    const rows = [row(tag, cells("last"), attributes, validates ? "validation" : "")];
    if (!this.options.extent) return rows;
    const inner = { class: "nbt-inner" };
    const limits = [row("min", cells("min"), inner), row("max", cells("max"), inner)];
    if (higher === null) return [...rows, ...limits];
    const steps = numbers.map(({ maxStep, minStep }) => {
      const step = higher ? maxStep : minStep;
      const text = Number.isNaN(step) ? "–" : step.toLocaleString("en");
      return el("td", { class: "nbt-number", text });
    });
    return [...rows, ...limits, row(bestStep(higher), steps, inner)];
  }
}

/**
 * The comparison with the column of the baseline before the others, whose differences refer to it.
 * @param {Comparison} there
 * @param {ComparisonOptions["base"]} base
 * @returns {Comparison}
 */
function baseFirst(there, base) {
  const at = there.fits.findIndex(({ lead }) => lead === base);
  if (at < 1) return there;
  /** @type {<T>(list: readonly T[]) => T[]} */
  const moved = (list) => [list[at], ...list.filter((_, i) => i !== at)];
  return {
    ...there,
    fits: moved(there.fits),
    about: moved(there.about),
    hparams: there.hparams.map((row) => ({ ...row, values: moved(row.values) })),
    scalars: there.scalars.map((row) => ({ ...row, numbers: moved(row.numbers) })),
  };
}

/**
 * The rows with what is known of the runs; none of tags or notes that no run has.
 * @param {Comparison["about"]} about
 */
function aboutRows(about) {
  /** @type {[string, string[]][]} */
  const rows = [["duration", about.map(({ secs }) => duration(secs))]];
  if (about.some(({ tags }) => tags.length))
    rows.push(["tags", about.map(({ tags }) => tags.join(", "))]);
  if (about.some(({ notes }) => notes.length))
    rows.push(["notes", about.map(({ notes }) => newest(notes).join("\n"))]);
  return rows.map(([name, texts]) => row(name, texts.map(textCell), { "data-about": name }));
}

/** @param {string[]} notes */
function newest(notes) {
  const more = notes.length - NOTES;
  return more > 0 ? [`${more} before`, ...notes.slice(-NOTES)] : notes;
}

/** @param {string} text */
function textCell(text) {
  return el("td", { class: "nbt-number nbt-lines", title: text, text });
}

/** @param {Comparison["hparams"][number]} hparam */
function hparamRow({ name, values }) {
  const cells = values.map((value) =>
    el("td", { class: "nbt-number", title: whole(value), text: shown(value) }),
  );
  return row(name, cells, { "data-hparam": name });
}

/**
 * @param {string} name
 * @param {HTMLElement[]} cells
 * @param {Record<string, string>} attributes
 * @param {string} [of] beside the name
 */
function row(name, cells, attributes, of = "") {
  const words = [el("span", { text: name }), ...(of ? [el("small", { text: ` ${of}` })] : [])];
  const head = el("th", { scope: "row", title: `${name} ${of}`.trim(), children: words });
  return el("tr", { ...attributes, children: [head, ...cells] });
}

/**
 * @param {number} value
 * @param {boolean} there
 * @param {string} more beside the value
 */
function valueCell(value, there, more) {
  const text = there ? number(value) : "–";
  return el("td", {
    class: "nbt-number",
    title: there ? whole(value) : "",
    children: [el("span", { text }), ...(more ? [el("small", { text: more })] : [])],
  });
}

/** @param {number} count */
function alike(count) {
  return count ? `${count} more ${count === 1 ? "is" : "are"} equal in all runs` : "";
}
