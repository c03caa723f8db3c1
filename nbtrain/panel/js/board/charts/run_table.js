// The last, lowest and highest value of each run of a chart, in words, and with its best step as a table.

import { button, el } from "../../shared/dom.js";
import { number } from "../../shared/format.js";

/** @import { Board } from "../board.js" */
/** @import { RunCurve } from "./overlay.js" */

const HEADS = ["run", "last", "min", "max"];
const SAID = 8; // runs that are described in words

/**
 * @param {RunCurve[]} curves
 * @param {Pick<Board, "nameOf">} board
 */
export function runsInWords(curves, { nameOf }) {
  const words = curves.slice(0, SAID).map(({ run, numbers: { last, min, max } }) => {
    const [lowest, highest] = [min, max].map(number);
    return `${nameOf(run)}: last ${number(last)}, lowest ${lowest}, highest ${highest}`;
  });
  const more = curves.length - SAID;
  return [...words, ...(more > 0 ? [`and ${more} more runs`] : [])].join("; ");
}

/**
 * @param {RunCurve[]} curves
 * @param {Pick<Board, "swatch" | "nameOf">} board
 */
export function runTable(curves, board) {
  const [first, ...others] = new Set(curves.map(({ higher }) => higher));
  let higher = others.length ? null : (first ?? null);
  const title = "The step of the highest or of the lowest value: click to change";
  const turn = button({ title }, () => {
    higher = !higher;
    fill();
  });
  const body = el("tbody");
  const fill = () => {
    turn.textContent = bestStep(higher);
    body.replaceChildren(...curves.map((curve) => row(curve, higher, board)));
  };
  fill();
  const heads = [
    ...HEADS.map((text) => el("th", { scope: "col", text })),
    el("th", { scope: "col", children: [turn] }),
  ];
  return el("table", {
    children: [el("thead", { children: [el("tr", { children: heads })] }), body],
  });
}

/**
 * The heading of the step of the best value.
 * @param {boolean | null} higher whether that is the highest; null if it is not known
 */
export function bestStep(higher) {
  return higher === null ? "best step ?" : `best step (${higher ? "highest" : "lowest"})`;
}

/**
 * @param {RunCurve} curve
 * @param {boolean | null} higher whether the best value is the highest; null if that is not known
 * @param {Pick<Board, "swatch" | "nameOf">} board
 */
function row({ run, numbers }, higher, { swatch, nameOf }) {
  const { points, last, min, max, minStep, maxStep } = numbers;
  const best = higher === null ? NaN : higher ? maxStep : minStep;
  /** @param {number} n */
  const whole = (n) => (Number.isNaN(n) ? "–" : n.toLocaleString("en"));
  const cells = [
    value(points > 0, last),
    value(!Number.isNaN(min), min),
    value(!Number.isNaN(max), max),
    whole(best),
  ];
  const title = run === "." ? nameOf(run) : run;
  const name = el("th", {
    scope: "row",
    children: [
      swatch(run),
      el("span", { text: nameOf(run), title: `${title}: ${whole(points)} points` }),
    ],
  });
  return el("tr", { children: [name, ...cells.map((text) => el("td", { text }))] });
}

/**
 * @param {boolean} there
 * @param {number} x
 */
function value(there, x) {
  return there ? number(x) : "–";
}
