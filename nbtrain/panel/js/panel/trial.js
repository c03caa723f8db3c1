// A trial edit: another value for some steps, kept unless a scalar has got worse.

import { el } from "../shared/dom.js";
import { Popover } from "./popover.js";
import { exact } from "./scale.js";

/** @import { Command, Receipt, Status } from "../protocol.d.ts" */
/** @import { Clicks } from "./clicks.js" */

/**
 * The contents of the form, and the value of the hyperparameter at that time.
 * @typedef {Record<"name" | "value" | "steps" | "tag", string> & {now: number | string}} Typed
 */

const STEPS = 200;
const UNDECIDED = "nothing was decided of"; // part of the answer to a trial that was left undecided
const USUAL = "val_loss"; // the tag that decides by default

export class Trial {
  /**
   * @param {Clicks} clicks
   * @param {(receipt?: Receipt) => void} answered called with the receipt, at the end of a trial
   */
  constructor(clicks, answered) {
    this.clicks = clicks;
    this.answered = answered;
    /** @type {Partial<Status>} */
    this.status = {};
    /** @type {Typed | null} */
    this.refused = null; // the contents of a form that was refused, to be corrected
    this.name = el("select", { "data-role": "trial-name" });
    this.name.addEventListener("change", () => {
      this.refused = null;
      this.#half();
    });
    this.value = el("input", {
      type: "text",
      inputmode: "decimal",
      autocomplete: "off",
      spellcheck: "false",
      "data-role": "trial-value",
    });
    this.steps = el("input", {
      type: "number",
      min: 1,
      step: 1,
      value: STEPS,
      required: "",
      "data-role": "trial-steps",
    });
    this.tag = el("select", { "data-role": "trial-tag" });
    /** @type {(text: string, input: HTMLElement) => HTMLElement} */
    const labelled = (text, input) => el("label", { children: [el("span", { text }), input] });
    const rows = [
      labelled("try", this.name),
      labelled("new value", this.value),
      labelled("steps", this.steps),
      labelled("undo if worse", this.tag),
    ];
    this.form = el("form", {
      class: "nbt-trial",
      children: [...rows, el("button", { type: "submit", text: "Try" })],
    });
    this.form.addEventListener("submit", (event) => this.#post(event));
    this.popover = new Popover("trial");
    this.popover.root.append(this.form);
    this.button = el("button", {
      type: "button",
      text: "Try…",
      "aria-haspopup": "dialog",
      "data-act": "try",
    });
    this.button.addEventListener("click", () => this.#open());
  }

  /**
   * can: whether a trial can begin now; undefined if the run has no trials.
   * @param {Partial<Status>} status
   * @param {boolean | undefined} can
   */
  show(status, can) {
    this.status = status;
    this.button.hidden = can === undefined;
    this.button.disabled = !can;
    if (!can) this.popover.close();
  }

  #open() {
    const refused = this.refused?.now === this.#now(this.refused?.name) ? this.refused : null;
    const { hyperparameters = [], last = {}, controls } = this.status;
    const tags = Object.keys(last).filter((tag) => !/^(hyperparameters|system)\//.test(tag));
    const losses = tags.filter((tag) => tag.includes("loss"));
    fill(
      this.name,
      hyperparameters.map(([name]) => name),
      [refused?.name, this.name.value],
    );
    const usual = controls?.evaluate && !tags.includes(USUAL) ? [""] : []; // it comes with an evaluation
    fill(this.tag, [...usual, ...tags], [refused?.tag, this.tag.value, ...usual, USUAL, losses[0]]);
    if (refused?.name === this.name.value) {
      this.value.value = refused.value;
      this.steps.value = refused.steps;
    } else this.#half();
    this.popover.open(this.button, "a trial edit");
  }

  #half() {
    const value = this.#now(this.name.value);
    this.value.value = typeof value === "number" ? exact(value / 2) : "";
  }

  /** @param {string | undefined} wanted */
  #now(wanted) {
    const { hyperparameters = [], values = [] } = this.status;
    return values[hyperparameters.findIndex(([name]) => name === wanted)];
  }

  /**
   * Sends the trial. A text that is no number is sent as it is: the run says what is wrong with it.
   * @param {Event} event
   */
  #post(event) {
    event.preventDefault();
    const text = this.value.value.trim().replace("−", "-");
    const number = Number(text);
    const value = text === "" || !Number.isFinite(number) ? text : number;
    const typed = {
      name: this.name.value,
      value: this.value.value,
      steps: this.steps.value,
      tag: this.tag.value,
      now: this.#now(this.name.value),
    };
    this.refused = null;
    /** @type {Command} */
    const command = {
      command: "try",
      values: { [typed.name]: value },
      steps: Number(typed.steps),
      keep_if: typed.tag || null,
    };
    this.clicks.post(command, (receipt) => {
      if (receipt?.state === "refused" && !receipt.text.includes(UNDECIDED)) this.refused = typed;
      this.answered(receipt);
    });
    this.popover.close();
  }
}

/**
 * Fills a list, and chooses the first wanted option that it has.
 * @param {HTMLSelectElement} select
 * @param {string[]} names
 * @param {(string | undefined)[]} wanted
 */
function fill(select, names, wanted) {
  select.replaceChildren(
    ...names.map((name) => el("option", { value: name, text: name || USUAL })),
  );
  const chosen = wanted.find((name) => names.includes(name));
  if (chosen !== undefined) select.value = chosen;
}
