// The tip of a chart of several runs, with the value of each.

import { el } from "../../shared/dom.js";
import { more, number, place } from "../../shared/format.js";
import { named } from "../../shared/name.js";
import { cursorOf } from "../../shared/plot.js";
import { valuesAt } from "./overlay.js";

/** @import uPlot from "uplot" */
/** @import { RunCurve } from "./overlay.js" */
/** @import { ChartBoard } from "./overlay_chart.js" */

/** @typedef {ReturnType<typeof valuesAt>[number]} RunValue The value of a run at a place. */

const MOST = 12; // runs listed, those nearest to the pointer

/**
 * The contents of the tip at the cursor of a chart.
 * @param {uPlot} u
 * @param {RunCurve[]} curves
 * @param {ChartBoard} board
 */
export function tip(u, curves, board) {
  const { left, top } = cursorOf(u);
  const { x: axis, smooth } = board.options;
  const x = u.posToVal(left, "x");
  const all = valuesAt(curves, x, { smooth: smooth > 0 });
  /** @param {RunValue} run */
  const distance = ({ value }) =>
    Number.isFinite(value) ? Math.abs(u.valToPos(value, "y") - top) : Infinity;
  const near = [...all].sort((one, other) => distance(one) - distance(other)).slice(0, MOST);
  const listed = all.filter((each) => near.includes(each));
  const at = nearestTo(listed, x);
  const there = at === undefined ? "" : place(at, axis);
  const rows = listed.map((each) => {
    const elsewhere = place(each.x, axis) !== there && `at ${place(each.x, axis)}`;
    const words = [detail(each, smooth > 0), more(each.also), elsewhere].filter(Boolean).join(", ");
    const children = [
      board.swatch(each.run),
      named(board.nameOf(each.run), { class: "nbt-tip-run" }),
      el("b", { text: number(each.value) }),
      el("span", { class: "nbt-soft", text: words }),
    ];
    const nearest = each === near[0] && listed.length > 1;
    return el("div", { class: nearest ? "nbt-tip-row nbt-nearest" : "nbt-tip-row", children });
  });
  const title = el("div", { class: "nbt-tip-head", text: there });
  const others = all.length - listed.length;
  const rest = others > 0 ? [el("div", { class: "nbt-soft", text: `and ${others} more` })] : [];
  return [title, ...rows, ...rest];
}

/**
 * The raw value beside a smoothed one, or the lowest and the highest value of a bucket.
 * @param {RunValue} run
 * @param {boolean} smooth
 */
function detail({ mean, lo, hi, stride, margin }, smooth) {
  if (!Number.isFinite(mean)) return "";
  if (smooth) return `raw ${number(mean)}`;
  return (stride > 1 || margin) && lo < hi ? `${number(lo)} to ${number(hi)}` : "";
}

/**
 * The listed position nearest to x; undefined if none is listed.
 * @param {RunValue[]} listed
 * @param {number} x
 */
function nearestTo(listed, x) {
  let best;
  for (const each of listed)
    if (best === undefined || Math.abs(each.x - x) < Math.abs(best - x)) best = each.x;
  return best;
}
