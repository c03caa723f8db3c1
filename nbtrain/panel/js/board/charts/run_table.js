// The table of a chart: what each run came to.

import { el } from "../../shared/dom.js";
import { number } from "../../shared/format.js";

const HEADS = ["run", "last", "min", "max"];

// curves: see overlay.js; swatch: gives the sign of a run's line.
export function runTable(curves, swatch) {
  let higher = curves[0]?.higher ?? false;
  const turn = el("button", {
    type: "button",
    title: "The step of the highest (↑) or the lowest (↓) value: click to change",
  });
  const body = el("tbody");
  const fill = () => {
    turn.textContent = higher ? "best step ↑" : "best step ↓";
    body.replaceChildren(...curves.map((curve) => row(curve, higher, swatch)));
  };
  turn.addEventListener("click", () => {
    higher = !higher;
    fill();
  });
  fill();
  const heads = [
    ...HEADS.map((text) => el("th", { scope: "col", text })),
    el("th", { scope: "col", children: [turn] }),
  ];
  return el("table", {
    children: [el("thead", { children: [el("tr", { children: heads })] }), body],
  });
}

function row({ run, numbers }, higher, swatch) {
  const { points, last, min, max, minStep, maxStep } = numbers;
  const best = higher ? maxStep : minStep;
  const whole = (n) => (Number.isNaN(n) ? "–" : n.toLocaleString("en"));
  const cells = [
    value(points, last),
    value(!Number.isNaN(min), min),
    value(!Number.isNaN(max), max),
    whole(best),
  ];
  const name = el("th", {
    scope: "row",
    children: [swatch(run), el("span", { text: run, title: `${run}: ${whole(points)} points` })],
  });
  return el("tr", { children: [name, ...cells.map((text) => el("td", { text }))] });
}

function value(there, x) {
  return there ? number(x) : "–";
}
