// Trials from the panel: a button and its form.

import { button } from "../shared/dom.js";
import { Popover } from "./popover.js";
import { TrialForm } from "./trial_form.js";
import { commandOf } from "./trial_values.js";

/** @import { Receipt, Status } from "../protocol.d.ts" */
/** @import { Clicks } from "./clicks.js" */
/** @import { Typed } from "./trial_values.js" */

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
    this.refused = null; // the contents of a form whose trial was refused, or was not decided
    this.form = new TrialForm();
    this.form.list.addEventListener("change", ({ target }) => {
      if (target instanceof HTMLSelectElement) this.refused = null;
    });
    this.form.root.addEventListener("submit", (event) => this.#post(event));
    this.popover = new Popover("trial");
    this.popover.root.append(this.form.root);
    const title = "Try other values for some steps, then keep the best or go back";
    const how = { text: "Try…", title, "aria-haspopup": "dialog", "data-act": "try" };
    this.button = button(how, () => {
      this.form.fill(this.status, this.refused);
      this.popover.open(this.button, "trial");
    });
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

  /**
   * Posts the trial.
   * @param {Event} event
   */
  #post(event) {
    event.preventDefault();
    const { typed } = this.form;
    this.refused = null;
    this.clicks.post(commandOf(typed), (receipt) => {
      if (receipt?.state === "refused") this.refused = typed;
      this.answered(receipt);
    });
    this.popover.close();
  }
}
