// What a card shows that is a chart: made anew for other colours.

import { BaseChart } from "../../shared/base_chart.js";

export class PlotBody extends BaseChart {
  // Others say what is drawn: `data` and `options`.
  constructor(card, label) {
    super(`${label} of ${card.tag} in ${card.run}: the arrow keys, Home and End read values`);
    Object.assign(this, { card, data: null, root: this.host });
  }

  get colour() {
    return this.card.board.styleOf(this.card.run).colour;
  }

  get look() {
    return JSON.stringify(this.paint());
  }

  paint = () => this.card.board.paint();

  draw() {
    if (this.data && this.hasRoom()) this.build(this.data, this.options());
  }

  clear() {
    this.destroy();
    this.data = null;
  }
}
