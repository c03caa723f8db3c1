// Below the message of a run that has paused because it has gone bad: what can be done about that.

import { el } from "../shared/dom.js";
import { trouble } from "./marks.js";
import { Offers } from "./offers.js";

/** @import { Status } from "../protocol.d.ts" */
/** @import { Mark } from "../types.d.ts" */
/** @import { Clicks } from "./clicks.js" */

export class Rescue {
  /**
   * clicks, state: see offers.js.
   * @param {Clicks} clicks
   * @param {() => {marks: Mark[], status: Partial<Status>, silentSince: string | null}} state
   */
  constructor(clicks, state) {
    this.state = state;
    this.root = el("div", {
      class: "nbt-rescue",
      role: "group",
      "aria-label": "the way back",
      tabindex: -1,
      "data-role": "rescue",
    });
    this.offers = new Offers(clicks, state, { heads: false, retreat: this.root });
    this.root.append(this.offers.list, this.offers.answers);
  }

  // What became of it is told until the run goes on, or something else has gone bad.
  show() {
    const { marks, status } = this.state();
    const mark = status.message ? trouble(marks) : null;
    const other = mark && mark.wall !== this.wall;
    if (other || status.phase === "running") this.offers.clear();
    this.wall = mark?.wall ?? this.wall;
    this.offers.show(mark ? [mark] : []);
    this.root.hidden = Boolean(
      !this.offers.list.querySelector("button") && this.offers.answers.hidden,
    );
  }
}
