// The status bar of the panel: the use of time, the load of the process, and notifications.

import { button, el, say, shorten } from "../shared/dom.js";

/** @import { Status, Usage } from "../protocol.d.ts" */
/** @import { Notices } from "./notices.js" */

const BESIDE =
  "Recording and display run beside the training, in threads of their own: their share of one core";

const PULLS =
  "What the kernel sends by itself does not reach this page, so the page asks. While a cell runs, the answer waits.";

export class Statusbar {
  /**
   * notices: see notices.js; shared by the views of a run.
   * @param {Notices} notices
   */
  constructor(notices) {
    this.notices = notices;
    this.bar = el("span", { class: "nbt-shares", "aria-hidden": "true" });
    this.words = el("span", { class: "nbt-spent", "data-role": "time" });
    this.beside = el("span", { title: BESIDE, "data-role": "beside" });
    this.process = el("span", { "data-role": "process" });
    this.pulls = el("span", { title: PULLS, "data-role": "pulls" });
    this.usage = el("div", {
      class: "nbt-usage",
      children: [this.bar, this.words, this.beside, this.process],
    });
    const title = "When the run ends or pauses by itself while this page is hidden";
    this.button = button({ text: "Notify me", title, "data-act": "notify" }, () =>
      notices.toggle(),
    );
    this.refusal = el("div", { class: "nbt-refusal", role: "status", "data-role": "refusal" });
    this.root = el("div", {
      class: "nbt-statusbar",
      children: [this.usage, this.pulls, this.button, this.refusal],
    });
  }

  /**
   * @param {Partial<Status>} status
   * @param {boolean} pulls True if news comes only as answers to this page.
   */
  show({ usage }, pulls) {
    say(this.pulls, pulls ? "asks for news every second" : "");
    this.usage.hidden = !usage;
    if (usage) this.#spend(usage);
    this.button.setAttribute("aria-pressed", String(this.notices.on));
    say(this.refusal, this.notices.refusal);
  }

  /** @param {Usage} usage */
  #spend({ shares, beside, process }) {
    say(this.beside, `${beside} of a core`);
    say(this.process, process);
    const [parts, words] = [this.bar, this.words].map((parent) => spans(parent, shares.length));
    shares.forEach(([kind, percent], i) => {
      parts[i].style.flexGrow = String(percent);
      say(words[i], `${kind} ${percent}%`);
      for (const node of [parts[i], words[i]]) node.dataset.kind = kind;
    });
  }
}

/**
 * Returns `count` spans of an element; existing ones are kept.
 * @param {HTMLElement} parent
 * @param {number} count
 */
function spans(parent, count) {
  shorten(parent, count);
  while (parent.children.length < count) parent.append(el("span"));
  return [...parent.querySelectorAll("span")];
}
