// A menu for the marks at one position, with the actions of each.

import { button } from "../shared/dom.js";
import { titleOf } from "./marks.js";
import { ActionList, key } from "./action_list.js";
import { Popover } from "./popover.js";

/** @import { Clicks } from "./clicks.js" */
/** @import { Mark } from "./marks.js" */

const LISTED = 6; // marks shown at first, and added by each click on "more"

export class MarksMenu {
  /**
   * clicks, state: see action_list.js.
   * @param {Clicks} clicks
   * @param {() => {marks: Mark[], silentSince: string | null}} state
   */
  constructor(clicks, state) {
    this.state = state;
    /** @type {string[]} */
    this.marks = []; // their keys
    this.listed = LISTED;
    this.popover = new Popover("marks");
    this.actions = new ActionList(clicks, state, {
      heads: true,
      retreat: this.popover.root,
      done: () => this.popover.close(),
    });
    this.more = button({ "data-act": "more" }, () => this.#more());
    this.popover.root.append(this.actions.list, this.more, this.actions.answers);
  }

  /**
   * Shows the actions of these marks beside an element, `left` pixels from its left edge.
   * @param {Mark[]} marks
   * @param {HTMLElement} anchor
   * @param {number} left
   */
  open(marks, anchor, left) {
    this.marks = marks.map(key);
    this.listed = LISTED;
    this.actions.clear();
    this.popover.close();
    this.show();
    this.popover.open(anchor, marks.length > 1 ? `${marks.length} marks` : titleOf(marks[0]), left);
  }

  // Updates the actions; called when the run has changed.
  show() {
    const { marks } = this.state();
    const found = this.marks
      .slice(0, this.listed)
      .map((wanted) => marks.find((mark) => key(mark) === wanted))
      .filter((mark) => mark !== undefined);
    this.actions.show(found);
    const left = this.marks.length - this.listed;
    this.more.hidden = left <= 0;
    this.more.textContent = `${left} more`;
  }

  // Shows more marks, and moves the focus to the first of them.
  #more() {
    const { list } = this.actions;
    const before = list.children.length;
    this.listed += LISTED;
    this.show();
    const come = list.children[before];
    come?.scrollIntoView({ block: "nearest" });
    if (come instanceof HTMLElement) come.focus({ preventScroll: true });
  }
}
