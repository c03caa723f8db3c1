// The button that pins a chart or a card before the others, or unpins it.

import { button, say } from "./dom.js";

export class Pin {
  /**
   * @param {string} tag
   * @param {() => void} toggle
   */
  constructor(tag, toggle) {
    this.root = button({ "data-act": "pin", "aria-label": `pin ${tag}` }, toggle);
    this.show(false);
  }

  /** @param {boolean} pinned */
  show(pinned) {
    this.root.setAttribute("aria-pressed", String(pinned));
    say(this.root, pinned ? "★" : "☆");
    this.root.title = pinned ? "Unpin" : "Pin to the top";
  }
}
