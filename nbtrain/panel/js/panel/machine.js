// The charts of the machine, `system/...`, in a section that can be opened below those of the training.

import { el, say } from "../shared/dom.js";
import { SYSTEM } from "../shared/side_tags.js";
import { ChartGrid } from "./chart_grid.js";

/** @import { Status } from "../protocol.d.ts" */

export class Machine {
  /**
   * charted: see chart_grid.js. changed: called when the charts are opened.
   * @param {ConstructorParameters<typeof ChartGrid>[0]} charted
   * @param {() => void} changed
   */
  constructor(charted, changed) {
    this.charts = new ChartGrid({ ...charted, system: true });
    this.summary = el("summary", { "data-role": "system" });
    this.root = el("details", {
      class: "nbt-machine",
      children: [this.summary, this.charts.root],
    });
    this.root.addEventListener("toggle", changed);
  }

  /**
   * Shows the number of curves; draws them while the section is open.
   * @param {Status["last"]} [last]
   * @param {boolean} [visible]
   */
  draw(last = {}, visible = true) {
    const count = Object.keys(last).filter((tag) => tag.startsWith(SYSTEM)).length;
    this.root.hidden = !count;
    say(this.summary, count ? `System: ${count} curves of CPU, memory, disk and GPUs` : "");
    if (count && this.root.open) this.charts.draw(last, visible);
  }
}
