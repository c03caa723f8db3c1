// A box above the page, beside an element. The browser closes it on Escape and on a click elsewhere,
// and returns the focus.

import { el, elementIn } from "../shared/dom.js";

const GAP = 6; // pixels to the element, and to the edge of the window

export class Popover {
  /** @param {string} name */
  constructor(name) {
    this.root = el("div", {
      class: "nbt-pop",
      popover: "auto",
      role: "dialog",
      tabindex: -1,
      "data-role": name,
      "data-lm-suppress-shortcuts": "true",
    });
    this.root.addEventListener("keydown", (event) => event.stopPropagation()); // not a command of the notebook
    this.root.addEventListener("toggle", () => this.#follow());
    /** @type {HTMLElement} */
    this.anchor = this.root; // until the first opening
    this.left = 0;
    /** @param {Event} event */
    this.scrolled = ({ target }) =>
      target instanceof Node && target.contains(this.anchor) && this.#place();
  }

  get isOpen() {
    return this.root.matches(":popover-open");
  }

  /**
   * Opens the box. anchor: the element beside it; left: the position in pixels from its left edge.
   * @param {HTMLElement} anchor
   * @param {string} label
   * @param {number} [left]
   */
  open(anchor, label, left = 0) {
    this.anchor = anchor;
    this.left = left;
    this.root.setAttribute("aria-label", label);
    this.root.showPopover();
    this.#place();
    (elementIn(this.root, "button:enabled, select, input, [tabindex='0']") ?? this.root).focus({
      preventScroll: true,
    });
  }

  close() {
    if (this.isOpen) this.root.hidePopover();
    else this.root.dispatchEvent(new Event("toggle")); // it must not come back: see moves.js
  }

  #place() {
    const { left: from, top, bottom } = this.anchor.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = this.root;
    const below = bottom + GAP + height <= innerHeight || top < height;
    /** @type {(place: number, room: number) => number} */
    const inside = (place, room) => Math.max(GAP, Math.min(place, room - GAP));
    this.root.style.left = `${inside(from + this.left, innerWidth - width)}px`;
    this.root.style.top = `${inside(below ? bottom + GAP : top - GAP - height, innerHeight - height)}px`;
  }

  #follow() {
    const act = this.isOpen ? "addEventListener" : "removeEventListener";
    window[act]("scroll", this.scrolled, true);
  }
}
