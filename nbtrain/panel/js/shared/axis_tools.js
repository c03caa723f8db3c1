// The controls for curves: the horizontal axis and the smoothing.

import { el, labelled, say } from "./dom.js";

/** @import { Axis } from "../protocol.d.ts" */

/**
 * The horizontal axis of a panel's charts: "epoch" counts completed epochs.
 * @typedef {Axis | "epoch"} ChartAxis
 */

/**
 * How curves are drawn.
 * @template {ChartAxis} X
 * @typedef {{x: X, logX: boolean, smooth: number}} Options
 */

/** @type {Record<ChartAxis, string>} */
const AXES = { step: "step", epoch: "epoch", relative: "relative time", wall: "wall time" };
/** @type {ChartAxis[]} */
const OF_A_BOARD = ["step", "relative", "wall"];
const SMOOTHEST = 0.999;

/** @template {ChartAxis} X */
export class AxisTools {
  log = el("input", { type: "checkbox", "data-role": "log-x" });
  slider = el("input", {
    type: "range",
    min: 0,
    max: SMOOTHEST,
    step: 0.001,
    "aria-label": "smoothing",
    "data-role": "smoothing",
  });
  smoothing = el("output", { class: "nbt-smooth" });

  /**
   * options: {x, logX, smooth}, changed in place; changed: called with the options that have changed.
   * axes: the axes to choose from.
   * @param {Options<X>} options
   * @param {(changes: Partial<Options<X>>) => void} changed
   * @param {X[]} [axes]
   */
  constructor(options, changed, axes = /** @type {X[]} */ (OF_A_BOARD)) {
    this.options = options;
    this.changed = changed;
    this.axis = el("select", {
      "aria-label": "horizontal axis",
      "data-role": "axis",
      children: axes.map((value) => el("option", { value, text: AXES[value] })),
    });
    this.axis.addEventListener("change", () =>
      this.#choose({
        x: /** @type {X} */ (this.axis.value),
        logX: this.options.logX && this.axis.value !== "wall",
      }),
    );
    this.log.addEventListener("change", () => this.#choose({ logX: this.log.checked }));
    this.slider.addEventListener("input", () =>
      this.#choose({ smooth: Number(this.slider.value) }),
    );
    const log = labelled("log x", this.log, { title: "Logarithmic x axis" });
    const smooth = labelled("smooth", this.slider);
    smooth.append(this.smoothing);
    this.root = el("div", {
      class: "nbt-tools",
      children: [labelled("x", this.axis), log, smooth],
    });
    this.show();
  }

  show() {
    const { x, logX, smooth } = this.options;
    this.axis.value = x;
    this.log.checked = logX;
    this.log.disabled = x === "wall";
    this.slider.value = String(smooth);
    this.smoothing.textContent = smooth.toFixed(smooth > 0.99 ? 3 : 2);
  }

  /**
   * Shows why an axis cannot be chosen now; null if it can.
   * @param {X} axis
   * @param {string | null} why
   */
  refuse(axis, why) {
    for (const option of this.axis.options) {
      if (option.value !== axis) continue;
      option.disabled = why !== null;
      say(option, why === null ? AXES[axis] : `${AXES[axis]} (${why})`);
    }
  }

  /** @param {Partial<Options<X>>} changes */
  #choose(changes) {
    Object.assign(this.options, changes);
    this.show();
    this.changed(changes);
  }
}
