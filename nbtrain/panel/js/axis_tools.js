// The controls of what draws curves: the horizontal axis, and the smoothing.

import { el } from "./dom.js";

const AXES = { step: "step", relative: "relative time", wall: "wall time" };
const SMOOTHEST = 0.999;

export class AxisTools {
  // options: {x, smooth}, changed in place; changed: called with what has changed of them.
  constructor(options, changed) {
    Object.assign(this, { options, changed });
    this.axis = el("select", { "aria-label": "horizontal axis", "data-role": "axis", children: Object.entries(AXES).map(([value, text]) => el("option", { value, text })) });
    this.axis.addEventListener("change", () => this.#choose({ x: this.axis.value }));
    this.slider = el("input", { type: "range", min: 0, max: SMOOTHEST, step: 0.001, "aria-label": "smoothing", "data-role": "smoothing" });
    this.slider.addEventListener("input", () => this.#choose({ smooth: Number(this.slider.value) }));
    this.smoothing = el("output", { class: "nbt-smooth" });
    const labelled = (text, ...children) => el("label", { class: "nbt-field", children: [el("span", { text }), ...children] });
    this.root = el("div", { class: "nbt-tools", children: [labelled("x", this.axis), labelled("smooth", this.slider, this.smoothing)] });
    this.show();
  }

  show() {
    const { x, smooth } = this.options;
    this.axis.value = x;
    this.slider.value = smooth;
    this.smoothing.textContent = smooth.toFixed(smooth > 0.99 ? 3 : 2);
  }

  #choose(changes) {
    Object.assign(this.options, changes);
    this.show();
    this.changed(changes);
  }
}
