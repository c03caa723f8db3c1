// The tags of a run in its head, and a form for a note on its history.

import { button, el, say } from "../shared/dom.js";
import { Popover } from "./popover.js";

/** @import { Status } from "../protocol.d.ts" */
/** @import { Clicks } from "./clicks.js" */

const MOST = 1000; // the characters that the kernel accepts

export class Notes {
  /** @param {Clicks} clicks */
  constructor(clicks) {
    this.clicks = clicks;
    this.tags = el("span", { class: "nbt-run-tags", "data-role": "tags" });
    this.text = el("input", {
      type: "text",
      maxlength: MOST,
      placeholder: "note on this step",
      "aria-label": "note",
      autocomplete: "off",
    });
    this.add = el("button", { type: "submit", text: "Add" });
    this.form = el("form", { class: "nbt-note-form", children: [this.text, this.add] });
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#add();
    });
    this.popover = new Popover("note-form");
    this.popover.root.append(this.form);
    const title = "Add a note to the history at this step";
    this.button = button({ text: "Note…", title, "data-act": "note" }, () => {
      this.popover.open(this.button, "a note");
      this.text.focus();
    });
  }

  /**
   * @param {Partial<Status>} status
   * @param {string | null} silentSince
   */
  show({ tags = [], controls }, silentSince) {
    say(this.tags, tags.map((tag) => `#${tag}`).join(" "));
    const none = !controls?.note || silentSince !== null;
    this.button.disabled = none;
    this.add.disabled = none;
  }

  #add() {
    const text = this.text.value.trim();
    if (!text) return;
    this.clicks.post({ command: "note", text });
    this.text.value = "";
    this.popover.close();
  }
}
