// The form of a trial: hyperparameters with a value or several each, or the limits of a range test.

import { button, el, say } from "../shared/dom.js";
import { isMetric } from "../shared/side_tags.js";
import { exact } from "./scale.js";
import { CHOICE, decidersOf, inWords, settingsIn, DEFAULT, DEFAULT_TAG } from "./trial_values.js";

/** @import { Status } from "../protocol.d.ts" */
/** @import { Typed } from "./trial_values.js" */

const TEXT = { type: "text", autocomplete: "off", spellcheck: "false" };
const WHOLE = { type: "number", min: 1, step: 1, required: "" };

/** @typedef {{root: HTMLElement, name: HTMLSelectElement, label: HTMLElement, value: HTMLInputElement, remove: HTMLElement}} Row */

export class TrialForm {
  /** @type {Partial<Status>} */
  status = {};
  range = false;
  /** @type {Row[]} */
  rows = [];
  tags = [DEFAULT]; // the choices of the deciding scalar
  low = el("input", { ...TEXT, inputmode: "decimal", value: "1e-6" });
  high = el("input", { ...TEXT, inputmode: "decimal", value: "1" });
  steps = el("input", { ...WHOLE, value: 200, "data-role": "trial-steps" });
  tag = el("select", { "data-role": "trial-tag" });
  repeats = el("input", { ...WHOLE, value: 1, "data-role": "trial-repeats" });
  list = el("div", { class: "nbt-tried" });
  decides = el("span");
  summary = el("div", { class: "nbt-soft", role: "status", "data-role": "trial-summary" });
  limits = [labelled("from", this.low), labelled("to", this.high)];
  several = labelled("repeats", this.repeats);
  deciding = el("label", { children: [this.decides, this.tag] });

  constructor() {
    this.kinds = ["Values", "Range test"].map((text, i) =>
      button({ text, "data-act": text }, () => this.#turn(i === 1)),
    );
    this.add = button({ text: "Add a hyperparameter", "data-act": "add" }, () =>
      this.#add().value.select(),
    );
    const submit = el("button", { type: "submit", text: "Try" });
    this.root = el("form", {
      class: "nbt-trial",
      children: [
        el("div", { class: "nbt-join", children: this.kinds }),
        this.list,
        this.add,
        ...this.limits,
        labelled("steps", this.steps),
        this.deciding,
        this.several,
        this.summary,
        submit,
      ],
    });
    this.root.addEventListener("input", () => this.#show());
  }

  /** @returns {Typed} */
  get typed() {
    const values = this.rows.map(({ name, value }) => ({
      name: name.value,
      text: value.value,
      now: this.#now(name.value),
    }));
    const [steps, repeats, low, high] = [this.steps, this.repeats, this.low, this.high].map(
      (input) => input.value,
    );
    return { values, steps, tag: this.tag.value, repeats, range: this.range, low, high };
  }

  /**
   * Fills the form from the run's state, or from a refused trial unless a value has changed since.
   * @param {Partial<Status>} status
   * @param {Typed | null} refused
   */
  fill(status, refused) {
    this.status = status;
    const kept = refused?.values.every(({ name, now }) => now === this.#now(name)) ? refused : null;
    const { last = {}, controls, higher } = status;
    const tags = Object.keys(last).filter(isMetric);
    const usual = controls?.evaluate && !tags.includes(DEFAULT_TAG) ? [DEFAULT] : [];
    this.tags = [...usual, ...decidersOf(tags, higher)];
    const losses = tags.filter((tag) => tag.includes("loss"));
    const first = this.rows[0]?.name.value;
    for (const { root } of this.rows) root.remove();
    this.rows = [];
    if (kept) for (const { name, text } of kept.values) this.#add(name, text);
    else this.#add(first);
    if (kept) this.#put(kept);
    this.#decide([kept?.tag, this.tag.value, ...usual, DEFAULT_TAG, losses[0]]);
    this.#show();
  }

  /** @param {Typed} kept */
  #put({ steps, repeats, low, high, range }) {
    this.steps.value = steps;
    this.repeats.value = repeats;
    this.low.value = low;
    this.high.value = high;
    this.range = range;
  }

  get #names() {
    return (this.status.hyperparameters ?? []).map(([name]) => name);
  }

  /** @param {string} wanted */
  #now(wanted) {
    return this.status.values?.[this.#names.indexOf(wanted)];
  }

  /**
   * Adds a hyperparameter that has no row yet, by default with half of its value.
   * @param {string} [wanted] its name; "": the first one
   * @param {string} [text]
   */
  #add(wanted = "", text) {
    const used = this.rows.map(({ name }) => name.value);
    const name = el("select", {
      "aria-label": "try",
      "data-role": "trial-name",
      children: this.#names.map((value) => el("option", { value, text: value })),
    });
    const free = this.#names.find((each) => !used.includes(each));
    name.value = this.#names.includes(wanted) ? wanted : (free ?? "");
    const value = el("input", { ...TEXT, "data-role": "trial-value" });
    const cross = { text: "×", title: "Remove this hyperparameter", "data-act": "remove" };
    const remove = button(cross, () => {
      this.rows.splice(this.rows.indexOf(row), 1);
      root.remove();
      this.#show();
      this.rows[0].value.focus();
    });
    const label = labelled("new value", value);
    const root = el("div", {
      class: "nbt-tried-row",
      children: [el("div", { children: [el("span", { text: "try" }), name, remove] }), label],
    });
    const row = { root, name, label, value, remove };
    const half = () => (value.value = halved(this.#now(name.value)));
    name.addEventListener("change", () => {
      half();
      this.#show();
    });
    if (text === undefined) half();
    else value.value = text;
    this.rows.push(row);
    this.list.append(root);
    this.#show();
    return row;
  }

  /** @param {boolean} range */
  #turn(range) {
    this.range = range;
    const { rate } = this.status;
    if (range && rate) this.rows[0].name.value = rate;
    this.#show();
  }

  /**
   * Fills the list of deciding scalars, and selects the first wanted one that it has.
   * @param {(string | undefined)[]} wanted
   */
  #decide(wanted) {
    const { several } = settingsIn(this.typed);
    const found = [...this.tags, ...(several ? [CHOICE] : [])];
    /** @type {Record<string, string>} */
    const texts = { [CHOICE]: "no: go back, I choose", [DEFAULT]: DEFAULT_TAG };
    this.tag.replaceChildren(
      ...found.map((value) => el("option", { value, text: texts[value] ?? inWords(value) })),
    );
    const chosen = wanted.find((name) => name !== undefined && found.includes(name));
    if (chosen !== undefined) this.tag.value = chosen;
  }

  // Shows the fields that apply, and the number of steps to train.
  #show() {
    const { range, rows } = this;
    const { several, count } = settingsIn(this.typed);
    this.kinds.forEach((button, i) => button.setAttribute("aria-pressed", String(range === !!i)));
    const used = rows.map(({ name }) => name.value);
    rows.forEach(({ root, name, label, remove }, i) => {
      root.hidden = range && i > 0;
      label.hidden = range;
      remove.hidden = range || rows.length < 2;
      for (const option of name.options)
        option.disabled = option.value !== name.value && used.includes(option.value);
    });
    this.add.hidden = range || rows.length >= this.#names.length;
    for (const limit of this.limits) limit.hidden = !range;
    this.deciding.hidden = range;
    this.several.hidden = range || !several;
    if ([...this.tag.options].some(({ value }) => value === CHOICE) !== several)
      this.#decide([this.tag.value, this.tags.at(-1)]);
    say(this.decides, several ? "keep the best" : "undo if worse");
    say(this.summary, this.#words(several, count));
  }

  /**
   * @param {boolean} several
   * @param {number} count
   */
  #words(several, count) {
    const steps = Number(this.steps.value);
    if (this.range) return "Starts from this state and goes back to it. No value is applied.";
    if (!several) return "Several values: 3e-4, 1e-3, 3e-3";
    const repeats = Number(this.repeats.value);
    const times = repeats > 1 ? ` × ${repeats} repeats` : "";
    const all = (count * repeats * steps).toLocaleString("en");
    return `${count} setting${count === 1 ? "" : "s"}${times} × ${steps.toLocaleString("en")} steps: ${all} steps`;
  }
}

/**
 * @param {string} text
 * @param {HTMLElement} input
 */
function labelled(text, input) {
  return el("label", { children: [el("span", { text }), input] });
}

/** @param {number | string | undefined} value */
function halved(value) {
  return typeof value === "number" ? exact(value / 2) : "";
}
