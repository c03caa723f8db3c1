// The marks of what was done to a run, in a strip above a chart: drawn, and found by the pointer.

import { el } from "../shared/dom.js";
import { glyph, grouped, titled } from "./marks.js";
import { shortened } from "../shared/format.js";

/** @import { Group, Mark, Paint } from "../types.d.ts" */
/** @import uPlot from "uplot" */

/** @typedef {Group<Mark> & {wide: number}} Sign A group, and how broad it is drawn, in pixels. */

export const STRIP = 18; // pixels above the plot
const APART = 22; // pixels between two marks, at the least: what stands closer is not told apart
const REACH = 7; // pixels from a mark to a pointer that means it
const GLYPH = 11; // pixels that a glyph is wide, at the most
const GAP = 2; // pixels between two signs
const BASE = 6; // pixels from a sign down to the plot, where the line of several is
const SMALL = "10px system-ui, sans-serif"; // of a count
const TOLD = 3; // marks of a group that the tip tells
const CHARS = 120; // of the text of one, in the tip; the menu has the whole
const GRAVE = ["nan", "failed"];

export class MarksStrip {
  /**
   * paint: gives what to paint with; see theme.js.
   * @param {() => Paint} paint
   */
  constructor(paint) {
    this.paint = paint;
    /** @type {Mark[]} */
    this.marks = [];
    /** @type {Sign[]} */
    this.groups = [];
    this.key = ""; // of what the tip tells
    this.tip = el("div", { class: "nbt-tip", role: "status", hidden: "", "data-role": "mark" });
    this.strip = el("div", { class: "nbt-strip" });
  }

  /**
   * Draw the marks above and across a plot.
   * @param {uPlot} u
   */
  draw(u) {
    const { ctx, bbox } = u;
    const ratio = devicePixelRatio || 1;
    const { strong, text, mark: grave, gone } = this.paint();
    const lefts = this.marks.map(({ place }) => u.valToPos(place, "x"));
    ctx.save();
    const wide = widths(ctx);
    this.groups = grouped(this.marks, lefts, {
      apart: APART,
      from: -1,
      to: bbox.width / ratio + 1,
      wide: (number) => wide(number) + GAP,
    }).map((group) => ({ ...group, wide: wide(group.number) }));
    ctx.translate(bbox.left, bbox.top);
    ctx.scale(ratio, ratio);
    ctx.textAlign = "center";
    for (const sign of this.groups) {
      const [{ event, abandoned }] = sign.marks;
      ctx.strokeStyle = ctx.fillStyle = abandoned ? gone : GRAVE.includes(event) ? grave : text;
      this.#lines(ctx, sign, bbox.height / ratio);
      if (!abandoned && !GRAVE.includes(event)) ctx.fillStyle = strong;
      this.#label(ctx, sign);
    }
    ctx.restore();
  }

  /**
   * A single mark has a line at its step; several have one along theirs.
   * @param {CanvasRenderingContext2D} ctx
   * @param {Sign} sign
   * @param {number} height of the plot
   */
  #lines(ctx, { first, last, marks: [{ abandoned }] }, height) {
    ctx.lineWidth = 1;
    ctx.globalAlpha = first === last ? 0.35 : 0.7;
    ctx.setLineDash(first === last && abandoned ? [2, 3] : []);
    ctx.beginPath();
    if (first === last) ctx.rect(Math.round(first), 0, 0, height);
    else ctx.rect(first - 1, -0.5, last - first + 2, 0);
    ctx.stroke();
    ctx.globalAlpha = 1;
  }

  /**
   * As wide as `widths` has it.
   * @param {CanvasRenderingContext2D} ctx
   * @param {Sign} sign
   */
  #label(ctx, { left, number, marks: [mark] }) {
    const text = counted(number);
    ctx.font = SMALL;
    const width = text ? ctx.measureText(text).width + 1 : 0;
    ctx.fillText(text, left + 6, -BASE);
    const sign = glyph(mark);
    ctx.font = "12px system-ui, sans-serif";
    const size = 12 * Math.min(1, GLYPH / ctx.measureText(sign).width); // that of a pause is two signs
    ctx.font = `${size}px system-ui, sans-serif`;
    ctx.fillText(sign, left - width / 2, -BASE);
  }

  /**
   * The marks that a pointer at this place means; undefined for none.
   * @param {number} left
   * @returns {Sign | undefined}
   */
  at(left) {
    let best;
    /** @param {Sign} group */
    const distance = (group) => Math.max(group.first - left, left - group.last, 0);
    for (const group of this.groups) {
      const off = distance(group);
      const isMeant = off <= REACH || Math.abs(left - group.left) <= group.wide / 2;
      if (isMeant && !(best && distance(best) <= off)) best = group;
    }
    return best;
  }

  /**
   * The first mark on the way from one place to another, where a cursor stops.
   * @param {number} from
   * @param {number} to
   */
  between(from, to) {
    const [low, high] = from < to ? [from + 1, to] : [to, from - 1];
    const passed = this.groups.filter(({ left }) => left >= low && left <= high);
    return from < to ? passed[0] : passed.at(-1);
  }

  /**
   * Tell of some marks beside the pointer, or of none.
   * @param {Mark[]} [marks]
   */
  tell(marks = []) {
    const key = marks.map(titled).join();
    this.tip.hidden = !marks.length;
    if (key === this.key) return;
    this.key = key;
    const rows = marks
      .slice(0, TOLD)
      .flatMap((mark) => [
        el("div", { class: "nbt-tip-head", text: `${glyph(mark)} ${titled(mark)}` }),
        ...(mark.text ? [el("div", { text: shortened(mark.text, CHARS) })] : []),
      ]);
    const more = marks.length - TOLD;
    if (more > 0) rows.push(el("div", { class: "nbt-soft", text: `and ${more} more` }));
    this.tip.replaceChildren(...rows);
  }
}

/** @param {number} number */
const counted = (number) => (number > 99 ? "99+" : number > 1 ? String(number) : "");

/**
 * How many pixels the sign of so many marks is wide.
 * @param {CanvasRenderingContext2D} ctx
 */
function widths(ctx) {
  ctx.font = SMALL;
  const digit = ctx.measureText("99+").width / 3;
  /** @param {number} number */
  return (number) => GLYPH + (number > 1 ? 1 + digit * counted(number).length : 0);
}
