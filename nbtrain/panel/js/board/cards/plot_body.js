// What a card shows that is a chart: made anew for other colours, fitted into another room.

import uPlot from "uplot";
import { el } from "../../shared/dom.js";
import { besidePointer, moveByKey } from "../../shared/plot.js";

export class PlotBody {
  // height: in pixels. Others say what is drawn: options(), data, and told(u), what the hover says.
  constructor(card, { height, label }) {
    Object.assign(this, { card, height, plot: null, data: null });
    const words = `${label} of ${card.tag} in ${card.run}: the arrow keys, Home and End read values`;
    this.root = el("div", { class: "nbt-plot", tabindex: 0, role: "group", "aria-label": words });
    this.root.addEventListener("keydown", (event) => this.#key(event));
    this.root.addEventListener("blur", () => this.plot?.setCursor({ left: -10, top: -10 }));
    this.tip = el("div", { class: "nbt-tip", hidden: "", "data-role": "values" });
  }

  get colour() {
    return this.card.board.styleOf(this.card.run).colour;
  }

  paint = () => this.card.board.paint();

  build() {
    this.plot?.destroy();
    this.plot = null;
    const width = this.root.clientWidth;
    if (!width || !this.data) return;
    const fixed = { width, height: this.height, legend: { show: false }, hooks: { setCursor: [(u) => this.#hover(u)] } };
    this.plot = new uPlot({ ...this.options(), ...fixed }, this.data, this.root);
    this.plot.over.append(this.tip);
    this.look = JSON.stringify(this.paint());
  }

  resize() {
    const width = this.root.clientWidth;
    if (!width || !this.data) return;
    if (!this.plot || this.look !== JSON.stringify(this.paint())) this.build();
    else if (this.plot.width !== width) this.plot.setSize({ width, height: this.height });
  }

  clear() {
    this.plot?.destroy();
    Object.assign(this, { plot: null, data: null });
    this.tip.hidden = true;
  }

  #key(event) {
    if (!this.plot || !moveByKey(this.plot, event)) return;
    event.preventDefault();
    event.stopPropagation(); // not a command of the notebook's
  }

  #hover(u) {
    this.tip.hidden = !(u.cursor.left >= 0) || !this.data;
    if (this.tip.hidden) return;
    this.tip.replaceChildren(...this.told(u));
    besidePointer(this.tip, u);
  }
}
