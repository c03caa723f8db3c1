// The head of a chart: its tag, the last values, what there is at the cursor, and the scale.

import { el } from "../shared/dom.js";
import { describe, describeValidation, tally } from "../shared/format.js";

/** @import { Bucket, TagLine, UnseenBucket } from "../types.d.ts" */

export class ChartHead {
  /**
   * @param {string} tag
   * @param {() => void} toggle called when the scale is to be the other one
   */
  constructor(tag, toggle) {
    this.said = "";
    this.last = el("span", { class: "nbt-last" });
    this.legend = el("span", { class: "nbt-legend", "data-role": "legend" });
    this.log = el("button", {
      type: "button",
      text: "log",
      "aria-pressed": "false",
      title: "Logarithmic scale",
    });
    this.log.addEventListener("click", toggle);
    const name = el("span", { class: "nbt-tag", text: tag, title: tag });
    this.root = el("div", {
      class: "nbt-chart-head",
      children: [name, this.last, this.legend, this.log],
    });
  }

  /**
   * Tell of each line its last value, and whether the run went back behind all there was of it.
   * @param {(TagLine & {last?: string, abandoned: boolean})[]} lines
   */
  say(lines) {
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
   * Tell of the buckets at the cursor; without them, how many values no line can show.
   * @param {Bucket[]} buckets
   * @param {UnseenBucket[]} unseen
   */
  tell([bucket, validated], unseen) {
    if (!bucket) this.legend.textContent = tally(unseen);
    else
      this.legend.replaceChildren(
        describe(bucket),
        ...(validated ? [validation(describeValidation(validated, bucket.x))] : []),
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
