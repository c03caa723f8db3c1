// The filters of hyperparameters and metrics: a range or a choice of values for each.

import { whole } from "./cells.js";
import { chosen, domainOf } from "./choice.js";
import { button, el, labelled, unfolding } from "../../shared/dom.js";
import { number, numberIn } from "../../shared/format.js";

/** @import { Value } from "./cells.js" */
/** @import { Domain, Filter } from "./choice.js" */

export class HparamsFilters {
  /**
   * changed: called when a filter changes.
   * @param {() => void} changed
   */
  constructor(changed) {
    this.changed = changed;
    /** @type {Map<string, Filter>} */
    this.choices = new Map(); // by the id of the column
    /** @type {{id: string, text: string, domain: Domain}[]} */
    this.domains = [];
    this.look = "";
    this.root = el("div", { class: "nbt-filters", "data-role": "filters", hidden: "" });
    this.button = unfolding("Filters", this.root);
    this.clear = button({ text: "clear all filters", hidden: "" }, () => {
      this.choices.clear();
      this.#fill();
      this.#chosen();
    });
  }

  /** @param {{id: string, text: string, values: Value[]}[]} columns with the values of all rows */
  show(columns) {
    const domains = columns.map(({ id, text, values }) => ({ id, text, domain: domainOf(values) }));
    const look = JSON.stringify(domains, (_key, value) =>
      typeof value === "number" ? String(value) : value,
    );
    if (this.look === look) return;
    this.look = look;
    this.domains = domains;
    this.#fill();
  }

  /**
   * Returns whether a row matches.
   * @param {(id: string) => Value} valueOf returns the row's value in a column
   */
  matches(valueOf) {
    return [...this.choices].every(([id, choice]) => chosen(valueOf(id), choice));
  }

  /**
   * Sets the filter of a column, as its fields do; null clears it.
   * @param {string} id
   * @param {Filter | null} choice
   */
  choose(id, choice) {
    if (choice) this.choices.set(id, choice);
    else this.choices.delete(id);
    const at = this.domains.findIndex((each) => each.id === id);
    if (at >= 0) this.root.children[at].replaceWith(this.#field(this.domains[at]));
    this.#chosen();
  }

  #fill() {
    this.root.replaceChildren(...this.domains.map((domain) => this.#field(domain)), this.clear);
  }

  /** @param {HparamsFilters["domains"][number]} column */
  #field({ id, text, domain }) {
    const inner = "values" in domain ? this.#values(id, domain.values) : this.#range(id, domain);
    return el("fieldset", {
      "data-filter": id,
      children: [el("legend", { text, title: text }), ...inner],
    });
  }

  #chosen() {
    this.clear.hidden = this.choices.size === 0;
    this.button.textContent = this.choices.size ? `Filters: ${this.choices.size}` : "Filters";
    this.changed();
  }

  /**
   * @param {string} id
   * @param {Value[]} values
   */
  #values(id, values) {
    const before = this.choices.get(id);
    /** @type {Set<Value>} */
    const without = before && "without" in before ? before.without : new Set();
    return values.map((value) => {
      const box = el("input", { type: "checkbox" });
      box.checked = !without.has(value);
      box.addEventListener("change", () => {
        if (box.checked) without.delete(value);
        else without.add(value);
        if (without.size) this.choices.set(id, { without });
        else this.choices.delete(id);
        this.#chosen();
      });
      const name = value === null ? "not set" : value === "" ? "empty" : whole(value);
      return labelled(name, box, { class: "nbt-choice", title: name });
    });
  }

  /**
   * @param {string} id
   * @param {{low: number, high: number}} domain
   */
  #range(id, { low, high }) {
    const before = this.choices.get(id);
    const ends = before && "low" in before ? before : { low: null, high: null };
    const [from, to] = [field("from", low, ends.low), field("to", high, ends.high)];
    const read = () => {
      const ends = [from, to].map((input) => {
        const end = numberIn(input.value);
        const isWrong = typeof end === "string" && end !== "";
        input.setAttribute("aria-invalid", String(isWrong));
        input.title = isWrong ? `${end} is not a number: type one such as 0.01 or 1e-3.` : "";
        return typeof end === "number" ? end : null;
      });
      if (ends.every((end) => end === null)) this.choices.delete(id);
      else this.choices.set(id, { low: ends[0], high: ends[1] });
      this.#chosen();
    };
    for (const input of [from, to]) input.addEventListener("input", read);
    return [from, el("span", { text: "to" }), to];
  }
}

/**
 * @param {"from" | "to"} name
 * @param {number} end the lowest or highest value of the column
 * @param {number | null} value the chosen number
 */
function field(name, end, value) {
  const input = el("input", {
    type: "text",
    inputmode: "decimal",
    placeholder: number(end),
    "aria-label": `${name}, a number`,
    "data-end": name,
  });
  input.value = String(value ?? "");
  return input;
}
