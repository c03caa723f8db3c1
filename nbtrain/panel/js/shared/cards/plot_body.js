// A chart in a card, created again when the colours change.

import { BaseChart } from "../base_chart.js";

/** @import { PlotOptions } from "../base_chart.js" */
/** @import { Columns } from "../columns.js" */
/** @import { BodyCard } from "./body.d.ts" */

const CURSOR = { points: { show: false }, y: false, drag: { x: false, y: false } };

export class PlotBody extends BaseChart {
  /**
   * Subclasses set `data` and override `options()`.
   * @param {BodyCard} card
   * @param {string} label
   */
  constructor(card, label) {
    super(`${label} of ${card.tag} in ${card.runTitle}: the arrow keys, Home and End read values`);
    this.card = card;
    /** @type {Columns | null} */
    this.data = null;
    this.root = this.host;
  }

  get colour() {
    return this.card.board.styleOf(this.card.run).colour;
  }

  // The reason if there is nothing to show.
  get lack() {
    return "";
  }

  get look() {
    return JSON.stringify(this.paint());
  }

  /** @returns {PlotOptions} */
  options() {
    return { series: [] };
  }

  paint = () => this.card.board.paint();

  draw() {
    if (this.data && this.hasRoom()) this.build(this.data, { cursor: CURSOR, ...this.options() });
  }

  clear() {
    this.destroy();
    this.data = null;
  }
}
