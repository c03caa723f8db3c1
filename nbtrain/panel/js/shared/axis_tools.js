// The controls of what draws curves: the horizontal axis, and the smoothing.

import { el } from "./dom.js";

/** @import { Axis } from "../protocol.d.ts" */
/** @typedef {{x: Axis, logX: boolean, smooth: number}} Options How curves are drawn. */
/** @typedef {"x" | "log" | "smooth"} Part */

const AXES = { step: "step", relative: "relative time", wall: "wall time" };
const SMOOTHEST = 0.999;

export class AxisTools {
  /**
   * options: {x, logX, smooth}, changed in place; changed: called with what has changed of them.
   * parts: which of its controls are there.
   * @param {Options} options
   * @param {(changes: Partial<Options>) => void} changed
   * @param {Part[]} [parts]
   */
  constructor(options, changed, parts = ["x", "log", "smooth"]) {
    this.options = options;
    this.changed = changed;
    this.axis = el("select", {
      "aria-label": "horizontal axis",
      "data-role": "axis",
      children: Object.entries(AXES).map(([value, text]) => el("option", { value, text })),
    });
    this.axis.addEventListener("change", () =>
      this.#choose({
        x: /** @type {Axis} */ (this.axis.value),
        logX: this.options.logX && this.axis.value !== "wall",
      }),
    );
    this.log = el("input", { type: "checkbox", "data-role": "log-x" });
    this.log.addEventListener("change", () => this.#choose({ logX: this.log.checked }));
    this.slider = el("input", {
      type: "range",
      min: 0,
      max: SMOOTHEST,
      step: 0.001,
      "aria-label": "smoothing",
      "data-role": "smoothing",
    });
    this.slider.addEventListener("input", () =>
      this.#choose({ smooth: Number(this.slider.value) }),
    );
    this.smoothing = el("output", { class: "nbt-smooth" });
    /** @type {(text: string, ...children: HTMLElement[]) => HTMLElement} */
    const labelled = (text, ...children) =>
      el("label", { class: "nbt-field", children: [el("span", { text }), ...children] });
    const log = el("label", {
      class: "nbt-field",
      title: "Logarithmic scale along the x axis",
      children: [this.log, el("span", { text: "log x" })],
    });
    const all = {
      x: labelled("x", this.axis),
      log,
      smooth: labelled("smooth", this.slider, this.smoothing),
    };
    this.root = el("div", { class: "nbt-tools", children: parts.map((part) => all[part]) });
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

  /** @param {Partial<Options>} changes */
  #choose(changes) {
    Object.assign(this.options, changes);
    this.show();
    this.changed(changes);
  }
}
