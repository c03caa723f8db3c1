// The button that shows a chart or a card on the whole screen. Escape ends it, as in every browser.

import { button } from "../shared/dom.js";
import { svg } from "./svg.js";

const CORNERS = "M1 4V1H4M8 1H11V4M11 8V11H8M4 11H1V8";

/**
 * @param {string} tag
 * @param {{root: HTMLElement, resize: () => void}} chart or card
 */
export function fullScreen(tag, chart) {
  const words = { title: "Show on the whole screen", "aria-label": `${tag} on the whole screen` };
  const root = button({ "data-act": "full-screen", ...words }, async () => {
    if (document.fullscreenElement === chart.root) return document.exitFullscreen();
    chart.root.onfullscreenchange = () => chart.resize();
    await chart.root.requestFullscreen();
  });
  const path = svg("path", { d: CORNERS, fill: "none", stroke: "currentColor" });
  root.append(svg("svg", { width: 12, height: 12, "aria-hidden": "true", children: [path] }));
  root.hidden = !document.fullscreenEnabled; // a front end may forbid it
  return root;
}
