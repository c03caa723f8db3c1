// The strip of marks above a chart: draws them, and finds the marks at the pointer.

import { el } from "../shared/dom.js";
import { grouped, titleOf } from "./marks.js";
import { shortened } from "../shared/format.js";
import { Tip } from "../shared/tip.js";

/** @import uPlot from "uplot" */
/** @import { Paint } from "../shared/theme.js" */
/** @import { PlacedMark } from "./x_axis.js" */
/** @import { Group, Mark } from "./marks.js" */

/** @typedef {Group<Mark> & {wide: number}} Sign A group, and the width of its sign in pixels. */

export const STRIP = 18; // pixels above the plot
const APART = 22; // the least pixels between two signs
const REACH = 7; // the most pixels from a mark to a pointer that selects it
const GLYPH = 11; // the most pixels of the width of a glyph
const GAP = 2; // pixels between two signs
const BASE = 6; // pixels between a sign and the plot, where a group has its line
const SMALL = "10px system-ui, sans-serif"; // of a count
const LISTED = 3; // marks of a group that the tip lists
const CHARS = 120; // the most characters of a mark's text in the tip; the menu has all
const GRAVE = ["nan", "failed"];

export class MarksStrip {
  /**
   * paint: returns the colours of the current theme.
   * @param {() => Paint} paint
   */
  constructor(paint) {
    this.paint = paint;
    /** @type {PlacedMark[]} */
    this.marks = [];
    /** @type {Sign[]} */
    this.groups = [];
    this.tip = new Tip("mark");
    this.strip = el("div", { class: "nbt-strip" });
  }

  /**
   * Draws the marks above and across a plot.
   * @param {uPlot} u
   */
  draw(u) {
    const { ctx, bbox } = u;
    const ratio = devicePixelRatio || 1;
    const { strong, text, mark: grave, gone } = this.paint();
    const lefts = this.marks.map(({ at }) => u.valToPos(at, "x"));
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
   * Draws a line at the step of a mark, or along the steps of a group.
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
   * Draws a sign, as wide as `widths` says.
   * @param {CanvasRenderingContext2D} ctx
   * @param {Sign} sign
   */
  #label(ctx, { left, number, marks: [mark] }) {
    const text = counted(number);
    ctx.font = SMALL;
    const width = text ? ctx.measureText(text).width + 1 : 0;
    ctx.fillText(text, left + 6, -BASE);
    ctx.font = "12px system-ui, sans-serif";
    const size = 12 * Math.min(1, GLYPH / ctx.measureText(mark.glyph).width); // the glyph of a pause has two characters
    ctx.font = `${size}px system-ui, sans-serif`;
    ctx.fillText(mark.glyph, left - width / 2, -BASE);
  }

  /**
   * The marks that a pointer at this position selects; undefined for none.
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
   * The first mark between two positions, where the cursor stops.
   * @param {number} from
   * @param {number} to
   */
  between(from, to) {
    const [low, high] = from < to ? [from + 1, to] : [to, from - 1];
    const passed = this.groups.filter(({ left }) => left >= low && left <= high);
    return from < to ? passed[0] : passed.at(-1);
  }

  /**
   * Describes marks in the tip; hides it if there are none.
   * @param {uPlot} u
   * @param {Mark[]} [marks]
   */
  showTip(u, marks = []) {
    const rows = marks
      .slice(0, LISTED)
      .flatMap((mark) => [
        el("div", { class: "nbt-tip-head", text: `${mark.glyph} ${titleOf(mark)}` }),
        ...(mark.text ? [el("div", { text: shortened(mark.text, CHARS) })] : []),
      ]);
    const more = marks.length - LISTED;
    if (more > 0) rows.push(el("div", { class: "nbt-soft", text: `and ${more} more` }));
    this.tip.show(rows, u);
  }
}

/** @param {number} number */
const counted = (number) => (number > 99 ? "99+" : number > 1 ? String(number) : "");

/**
 * The width in pixels of the sign of so many marks.
 * @param {CanvasRenderingContext2D} ctx
 */
function widths(ctx) {
  ctx.font = SMALL;
  const digit = ctx.measureText("99+").width / 3;
  /** @param {number} number */
  return (number) => GLYPH + (number > 1 ? 1 + digit * counted(number).length : 0);
}
