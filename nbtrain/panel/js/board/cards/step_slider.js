// The slider that chooses the step of a card, and a text with that step and its time.

import { el } from "../../shared/dom.js";
import { place } from "../../shared/format.js";

export class StepSlider {
  /**
   * @param {string} label
   * @param {(at: number) => void} moved called with the place of the chosen step
   */
  constructor(label, moved) {
    this.range = el("input", {
      type: "range",
      min: 0,
      max: 0,
      step: 1,
      "aria-label": label,
      "data-role": "step",
    });
    this.range.addEventListener("input", () => moved(Number(this.range.value)));
    this.range.addEventListener("keydown", (event) => event.stopPropagation()); // not a command of the notebook
    this.output = el("output", { class: "nbt-soft", "data-role": "shown-step" });
    this.root = el("div", { class: "nbt-step", children: [this.range, this.output] });
  }

  /**
   * @param {{steps: number[], walls: number[]}} history
   * @param {number} at the place among the steps
   */
  show({ steps, walls }, at) {
    if (!steps.length) return;
    const words = place(steps[at], "step");
    this.range.max = String(steps.length - 1);
    this.range.value = String(at);
    this.range.disabled = steps.length < 2;
    this.range.setAttribute("aria-valuetext", words);
    this.output.replaceChildren(el("b", { text: words }), ` ${place(walls[at], "wall")}`);
  }
}
