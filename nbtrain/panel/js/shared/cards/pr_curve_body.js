// Precision over recall, at all thresholds of a step.

import { nearest } from "../buckets.js";
import { floats } from "../columns.js";
import { el } from "../dom.js";
import { number } from "../format.js";
import { axes, cursorOf } from "../plot.js";
import { PlotBody } from "./plot_body.js";

/** @import uPlot from "uplot" */
/** @import { PRCurves } from "../../protocol.d.ts" */
/** @import { PlotOptions } from "../base_chart.js" */
/** @import { Columns } from "../columns.js" */
/** @import { Bytes } from "../connection.js" */
/** @import { BodyCard } from "./body.d.ts" */

export class PRCurveBody extends PlotBody {
  get height() {
    return 200;
  }

  /** @param {BodyCard} card */
  constructor(card) {
    super(card, "precision over recall");
    /** @type {number[]} */
    this.thresholds = [];
  }

  /**
   * The buffer: recalls, precisions and thresholds, by rising threshold, so by falling recall.
   * @param {PRCurves} _content
   * @param {Bytes[]} buffers
   */
  show(_content, buffers) {
    const numbers = floats(buffers[0]);
    const size = numbers.length / 3;
    const [recall, precision, thresholds] = [0, 1, 2].map((row) =>
      [...numbers.subarray(row * size, (row + 1) * size)].reverse(),
    );
    this.thresholds = thresholds;
    /** @type {Columns} */
    this.data = [recall, precision];
    this.draw();
    this.root.dataset.points = String(size);
  }

  /** @returns {PlotOptions} */
  options() {
    const { colour } = this;
    /** @returns {uPlot.Range.MinMax} */
    const whole = () => [0, 1.02];
    const [x, y] = axes(this.paint, { log: false });
    return {
      series: [{}, { stroke: colour, width: 1.5, points: { show: false } }],
      scales: { x: { time: false, range: whole }, y: { range: whole } },
      axes: [
        { ...x, incrs: [0.1, 0.2, 0.5], values: (u, values) => values.map(number) },
        { ...y, values: (u, values) => values.map(number) },
      ],
      padding: [8, 16, 0, 0],
    };
  }

  /** @param {uPlot} u */
  tipNodes(u) {
    const [recalls, precisions] = this.data;
    if (!recalls.length) return [];
    const at = nearest(recalls, u.posToVal(cursorOf(u).left, "x"));
    const rows = [
      ["recall", recalls[at]],
      ["precision", precisions[at]],
      ["threshold", this.thresholds[at]],
    ];
    return rows.map(([name, value]) => {
      const children = [
        el("span", { class: "nbt-soft", text: String(name) }),
        el("b", { text: number(Number(value)) }),
      ];
      return el("div", { class: "nbt-tip-row", children });
    });
  }
}
