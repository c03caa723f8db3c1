// The lines of parallel coordinates: their positions, and the line nearest to a point. Uses no DOM.

import { get } from "../../shared/collections.js";
import { placeOf } from "./value_axis.js";

/** @import { HparamsColumn, HparamsRow } from "../pages/hparams_page.js" */
/** @import { ValueAxis } from "./value_axis.js" */

/**
 * The positions of the axes in pixels; none: the height of lines without a value on an axis.
 * @typedef {{xs: number[], top: number, bottom: number, none: number}} Room
 */

export class Polylines {
  /**
   * @param {HparamsRow[]} rows
   * @param {{column: HparamsColumn, axis: ValueAxis}[]} axes
   */
  constructor(rows, axes) {
    this.rows = rows;
    this.size = axes.length;
    this.numbers = new Map(rows.map((row, i) => [row, i]));
    this.places = new Float64Array(rows.length * axes.length);
    rows.forEach((row, i) =>
      axes.forEach(({ column, axis }, j) => {
        this.places[i * this.size + j] = placeOf(axis, column.valueOf(row)) ?? NaN;
      }),
    );
  }

  /**
   * The height of a row's line at an axis.
   * @param {HparamsRow} row
   * @param {number} axis
   * @param {Room} room
   */
  heightOf(row, axis, room) {
    return this.#height(get(this.numbers, row), axis, room);
  }

  /**
   * The row whose line is nearest to a point, and its distance; null without rows.
   * @param {Iterable<HparamsRow>} rows
   * @param {{x: number, y: number}} point
   * @param {Room} room
   */
  nearest(rows, { x, y }, room) {
    const { xs } = room;
    let right = xs.findIndex((at) => at >= x);
    if (right < 0) right = xs.length - 1;
    const left = Math.max(0, right - 1);
    const part = left === right ? 0 : Math.min(1, (x - xs[left]) / (xs[right] - xs[left]));
    /** @type {{row: HparamsRow, distance: number} | null} */
    let best = null;
    for (const row of rows) {
      const i = get(this.numbers, row);
      const from = this.#height(i, left, room);
      const distance = Math.abs(from + (this.#height(i, right, room) - from) * part - y);
      if (!best || distance < best.distance) best = { row, distance };
    }
    return best;
  }

  /**
   * @param {number} i
   * @param {number} axis
   * @param {Room} room
   */
  #height(i, axis, { top, bottom, none }) {
    const place = this.places[i * this.size + axis];
    return Number.isNaN(place) ? none : bottom + (top - bottom) * place;
  }
}
