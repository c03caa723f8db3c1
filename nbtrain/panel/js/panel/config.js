// The settings that a run is made with: one line, and below it, when opened, a row for each entry.

import { el, say } from "../shared/dom.js";

/** @import { Status } from "../protocol.d.ts" */

export class Config {
  constructor() {
    this.summary = el("summary", { "data-role": "config" });
    this.body = el("tbody");
    this.more = el("div", { class: "nbt-notice" });
    const table = el("table", { children: [this.body] });
    this.root = el("details", {
      class: "nbt-config",
      children: [this.summary, el("div", { class: "nbt-scroll", children: [table] }), this.more],
    });
    this.shown = "";
  }

  /** @param {Partial<Status>} status */
  show({ config }) {
    this.root.hidden = !config;
    if (!config) return;
    const shown = JSON.stringify(config);
    if (shown === this.shown) return;
    this.shown = shown;
    const { entries, more } = config;
    say(this.summary, `Config: ${entries.map(([name, value]) => `${name} ${value}`).join(" · ")}`);
    say(this.more, more ? `and ${more.toLocaleString("en")} more, in run.status.config` : "");
    this.body.replaceChildren(
      ...entries.map(([name, value]) =>
        el("tr", { children: [el("th", { text: name, scope: "row" }), el("td", { text: value })] }),
      ),
    );
  }
}
