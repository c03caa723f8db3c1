// The actions below the message of a run that has paused because of a NaN or a jump of the loss.

import { el } from "../shared/dom.js";
import { ActionList } from "./action_list.js";

/** @import { Status } from "../protocol.d.ts" */
/** @import { Clicks } from "./clicks.js" */
/** @import { Mark } from "./marks.js" */

export class MessageActions {
  /**
   * clicks, state: see action_list.js.
   * @param {Clicks} clicks
   * @param {() => {marks: Mark[], status: Partial<Status>, silentSince: string | null}} state
   */
  constructor(clicks, state) {
    this.state = state;
    this.root = el("div", {
      class: "nbt-message-actions",
      role: "group",
      "aria-label": "actions",
      tabindex: -1,
      "data-role": "message-actions",
    });
    this.actions = new ActionList(clicks, state, { heads: false, retreat: this.root });
    this.root.append(this.actions.list, this.actions.answers);
  }

  // Updates the actions. The answers stay until the run continues, or until another NaN.
  show() {
    const { marks, status } = this.state();
    const mark = status.message ? marks.find(({ number }) => number === status.open_nan) : null;
    const other = mark && mark.number !== this.number;
    if (other || status.phase === "running") this.actions.clear();
    this.number = mark?.number ?? this.number;
    this.actions.show(mark ? [mark] : []);
    this.root.hidden = Boolean(
      !this.actions.list.querySelector("button") && this.actions.answers.hidden,
    );
  }
}
