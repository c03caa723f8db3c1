// Runs side by side: what they were told, where that differs, and what they came to.

import { shown, whole } from "./cells.js";
import { difference } from "./difference.js";
import { el, elementIn, focusedIn, scroller } from "../../shared/dom.js";
import { number } from "../../shared/format.js";

const AT_ONCE = 100; // tags that are put into the page before more are asked for

export class CompareTable {
  // swatch: gives the sign of a run's line; chosen: called with the new baseline, a run or null.
  constructor({ swatch, chosen }) {
    this.swatch = swatch;
    this.chosen = chosen;
    this.most = AT_ONCE;
    this.table = el("table");
    this.more = el("button", { type: "button", class: "nbt-more" });
    this.more.addEventListener("click", () => {
      this.most += AT_ONCE;
      this.show(this.there, this.options);
    });
    this.root = scroller("runs side by side", [this.table, this.more]);
  }

  // there: {runs, hparams: [{name, values, same}], scalars: [{tag, higher, numbers}]}, of each run in its place;
  // options: {base, same, extent}: the baseline, whether what does not differ is shown as well,
  // and whether lowest, highest and best step are.
  show(there, options) {
    this.there = there;
    this.options = options;
    const { runs, hparams, scalars } = there;
    const told = options.same ? hparams : hparams.filter(({ same }) => !same);
    const focused = focusedIn(this.table)?.dataset.baseline;
    const parts = [
      el("thead", {
        children: [el("tr", { children: [el("td"), ...runs.map((run) => this.#heading(run))] })],
      }),
    ];
    if (hparams.length)
      parts.push(
        this.#part("hyperparameters", told.map(hparamRow), alike(hparams.length - told.length)),
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
    if (focused) elementIn(this.table, `[data-baseline="${CSS.escape(focused)}"]`)?.focus();
  }

  /** @param {string} run */
  #heading(run) {
    const pressed = run === this.options.base;
    const title = pressed
      ? "Show values without differences"
      : `Show how the others differ from ${run}`;
    const button = el("button", {
      type: "button",
      text: "baseline",
      title,
      "aria-pressed": String(pressed),
      "data-baseline": run,
    });
    button.addEventListener("click", () => this.chosen(pressed ? null : run));
    const name = el("span", { class: "nbt-run-name", text: run, title: run });
    return el("th", {
      scope: "col",
      class: "nbt-number",
      children: [
        el("div", { class: "nbt-compare-run", children: [this.swatch(run), name] }),
        button,
      ],
    });
  }

  #part(text, rows, words) {
    const title = [el("span", { text }), ...(words ? [el("small", { text: words })] : [])];
    const head = el("th", {
      scope: "rowgroup",
      colspan: this.there.runs.length + 1,
      children: title,
    });
    return el("tbody", {
      "data-part": text,
      children: [el("tr", { class: "nbt-part", children: [head] }), ...rows],
    });
  }

  #scalarRows({ tag, higher, numbers }) {
    const base = numbers[this.there.runs.indexOf(this.options.base)];
    const cell = (of) => (each) =>
      valueCell(
        each[of],
        each.points > 0,
        base && base !== each ? difference(each[of], base[of]) : "",
      );
    const rows = [row(tag, numbers.map(cell("last")), { "data-tag": tag })];
    if (!this.options.extent) return rows;
    const [name, of] = higher ? ["best step ↑", "maxStep"] : ["best step ↓", "minStep"];
    const steps = numbers.map((each) =>
      el("td", {
        class: "nbt-number",
        text: Number.isNaN(each[of]) ? "–" : each[of].toLocaleString("en"),
      }),
    );
    const inner = { class: "nbt-inner" };
    return [
      ...rows,
      row("min", numbers.map(cell("min")), inner),
      row("max", numbers.map(cell("max")), inner),
      row(name, steps, inner),
    ];
  }
}

function hparamRow({ name, values }) {
  const cells = values.map((value) =>
    el("td", { class: "nbt-number", title: whole(value), text: shown(value) }),
  );
  return row(name, cells, { "data-hparam": name });
}

function row(name, cells, attributes) {
  return el("tr", {
    ...attributes,
    children: [el("th", { scope: "row", text: name, title: name }), ...cells],
  });
}

function valueCell(value, there, more) {
  const text = there ? number(value) : "–";
  return el("td", {
    class: "nbt-number",
    title: there ? whole(value) : "",
    children: [el("span", { text }), ...(more ? [el("small", { text: more })] : [])],
  });
}

function alike(count) {
  return count ? `${count} more ${count === 1 ? "is" : "are"} the same in all of them` : "";
}
