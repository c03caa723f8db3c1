// The marks that somebody asks about, with what can be done about each.

import { el } from "../shared/dom.js";
import { titled } from "./marks.js";
import { Offers, key } from "./offers.js";
import { Popover } from "./popover.js";

/** @import { Mark } from "../types.d.ts" */
/** @import { Clicks } from "./clicks.js" */

const LISTED = 6; // marks of a group, at first and with each "more"

export class MarksMenu {
  /**
   * clicks, state: see offers.js.
   * @param {Clicks} clicks
   * @param {() => {marks: Mark[], silentSince: string | null}} state
   */
  constructor(clicks, state) {
    this.state = state;
    /** @type {string[]} */
    this.marks = []; // their keys
    this.listed = LISTED;
    this.popover = new Popover("marks");
    this.offers = new Offers(clicks, state, {
      heads: true,
      retreat: this.popover.root,
      done: () => this.popover.close(),
    });
    this.more = el("button", { type: "button", "data-act": "more" });
    this.more.addEventListener("click", () => this.#more());
    this.popover.root.append(this.offers.list, this.more, this.offers.answers);
  }

  /**
   * Offer what can be done about these marks, beside an element, at a place in it.
   * @param {Mark[]} marks
   * @param {HTMLElement} anchor
   * @param {number} left
   */
  open(marks, anchor, left) {
    this.marks = marks.map(key);
    this.listed = LISTED;
    this.offers.clear();
    this.popover.close();
    this.show();
    this.popover.open(anchor, marks.length > 1 ? `${marks.length} marks` : titled(marks[0]), left);
  }

  // The run has gone on: something else may be possible by now.
  show() {
    const { marks } = this.state();
    const found = this.marks
      .slice(0, this.listed)
      .map((wanted) => marks.find((mark) => key(mark) === wanted));
    this.offers.show(found.filter(Boolean));
    const left = this.marks.length - this.listed;
    this.more.hidden = left <= 0;
    this.more.textContent = `${left} more`;
  }

  // The focus goes on to what has come.
  #more() {
    const { list } = this.offers;
    const before = list.children.length;
    this.listed += LISTED;
    this.show();
    const come = list.children[before];
    come?.scrollIntoView({ block: "nearest" });
    if (come instanceof HTMLElement) come.focus({ preventScroll: true });
  }
}
