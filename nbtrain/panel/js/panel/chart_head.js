// The head of a chart: tag, last and best values, the values at the cursor, and buttons.

import { button, el, say } from "../shared/dom.js";
import { describe, describeBest, describeValidation, tally } from "../shared/format.js";
import { Outliers } from "../shared/outliers.js";
import { Pin } from "../shared/pin.js";
import { named } from "../shared/name.js";

/** @import { Bucket, UnseenBucket, best } from "../shared/buckets.js" */
/** @import { ChartAxis } from "../shared/axis_tools.js" */
/** @import { TagLine } from "./store.js" */

export class ChartHead {
  /**
   * toggleLog: called to change the scale; toggleOutliers: called to show or leave out outliers;
   * togglePin: called to pin or unpin the chart; showTable: called to show its values.
   * @param {string} tag
   * @param {{toggleLog: () => void, toggleOutliers: () => void, togglePin: () => void, showTable: () => void}} clicks
   */
  constructor(tag, { toggleLog, toggleOutliers, togglePin, showTable }) {
    this.said = "";
    this.last = el("span", { class: "nbt-last" });
    this.best = el("span", { class: "nbt-best", "data-role": "best" });
    this.legend = el("span", { class: "nbt-legend", "data-role": "legend" });
    this.outliers = new Outliers(tag, toggleOutliers);
    this.pin = new Pin(tag, togglePin);
    const values = { title: "Values as a table", "aria-label": `values of ${tag} as a table` };
    this.table = button(
      { text: "▤", "aria-haspopup": "dialog", "data-act": "table", ...values },
      showTable,
    );
    this.log = button({ text: "log", title: "Logarithmic scale" }, toggleLog);
    const tools = [this.outliers.root, this.pin.root, this.table, this.log];
    const name = named(tag, { class: "nbt-tag" });
    const title = el("span", { class: "nbt-title", children: [name, this.last, this.best] });
    this.root = el("div", {
      class: "nbt-chart-head",
      children: [title, this.legend, el("span", { class: "nbt-head-tools", children: tools })],
    });
    this.show({ log: false, pinned: false });
  }

  /**
   * Shows which buttons are pressed.
   * @param {{log: boolean, pinned: boolean}} chosen
   */
  show({ log, pinned }) {
    this.log.setAttribute("aria-pressed", String(log));
    this.pin.show(pinned);
  }

  /**
   * Shows the last value of each line, and whether the line is abandoned.
   * @param {(TagLine & {last?: string, abandoned: boolean})[]} lines
   */
  showLast(lines) {
    const said = JSON.stringify(lines);
    if (said === this.said) return;
    this.said = said;
    this.last.replaceChildren(
      ...lines.map(({ tag, last = "", abandoned }, i) => {
        const text = abandoned ? `${last}\u00a0abandoned` : last;
        const shown = i ? validation(`val ${text}`, tag) : el("span", { text });
        shown.classList.toggle("nbt-abandoned", abandoned);
        return shown;
      }),
    );
  }

  /**
   * Shows the best value, of the validation if there is one; nothing if its direction is unknown.
   * @param {ReturnType<typeof best>} found
   * @param {{validates: boolean, tag: string, higher?: boolean}} of
   */
  showBest(found, { validates, tag, higher }) {
    const end = higher ? "highest" : "lowest";
    const words = found && `${end} ${validates ? "val " : ""}${describeBest(found)}`;
    say(this.best, words?.replaceAll(" ", "\u00a0")); // shown whole or not at all
    this.best.title = `best ${tag}: the ${end}`;
  }

  /**
   * Shows the buckets at the cursor; without a cursor, the number of values that no line can show.
   * @param {(Bucket | null)[]} buckets
   * @param {UnseenBucket[]} unseen
   * @param {{hovered: boolean, x?: ChartAxis}} how whether there is a cursor, whose values replace the last ones
   */
  showReading([bucket, validated], unseen, { hovered, x }) {
    this.root.classList.toggle("nbt-hovered", hovered);
    if (!bucket) this.legend.textContent = tally(unseen);
    else
      this.legend.replaceChildren(
        describe(bucket, x),
        ...(validated ? [validation(describeValidation(validated, bucket.step))] : []),
      );
  }
}

/**
 * @param {string} text
 * @param {string} [title]
 */
function validation(text, title = "") {
  return el("span", { class: "nbt-validation", text, title });
}
