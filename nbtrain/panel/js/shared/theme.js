// The colours of the notebook's theme for the charts. common.css defines every colour, from VS Code's or
// JupyterLab's where they exist.

import { el } from "./dom.js";

/**
 * The colours and the font of the current theme.
 * @typedef {ReturnType<typeof paints>} Paint
 */

const FORCED = "(forced-colors: active)"; // colours that the user has chosen for all pages

/**
 * Returns whether the theme is dark. In an unknown notebook, and with colours of the user's, light text
 * means a dark page.
 * @param {HTMLElement} root
 */
export function isDark(root) {
  const { dataset, classList } = document.body;
  if (!matchMedia(FORCED).matches) {
    if (dataset.jpThemeLight) return dataset.jpThemeLight === "false";
    // The light theme of high contrast has the class of the dark one too.
    const has = (/** @type {string} */ kind) => classList.contains(`vscode-${kind}`);
    if (has("light") || has("high-contrast-light")) return false;
    if (has("dark") || has("high-contrast")) return true;
  }
  const [red, green, blue] = rgb(getComputedStyle(root).color);
  return 0.3 * red + 0.6 * green + 0.1 * blue > 128;
}

/**
 * Red, green and blue from 0 to 255, of a colour in any form of CSS, such as `color(srgb 0.9 0.9 0.9)`.
 * @param {string} colour
 */
function rgb(colour) {
  const canvas = el("canvas", { width: 1, height: 1 });
  const pixel = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  pixel.fillStyle = colour;
  pixel.fillRect(0, 0, 1, 1);
  return pixel.getImageData(0, 0, 1, 1).data;
}

/**
 * Reads the colours of the current theme.
 * @param {HTMLElement} root
 */
export function paints(root) {
  const style = getComputedStyle(root);
  /** @param {string} name */
  const read = (name) => style.getPropertyValue(name).trim();
  const text = matchMedia(FORCED).matches ? style.color : read("--soft");
  return {
    text,
    grid: read("--grid"),
    gone: read("--gone"),
    mark: read("--bad"),
    face: read("--face"),
    accent: read("--accent"),
    strong: style.color,
    ramp: read("--ramp").split(/\s+/),
    colours: read("--tags").split(/\s+/),
    font: `11px ${style.fontFamily}`,
  };
}

/**
 * Calls `changed` when the theme changes; returns a function that stops this.
 * @param {() => void} changed
 */
export function watch(changed) {
  const observer = new MutationObserver(changed);
  const attributeFilter = ["class", "data-jp-theme-light", "data-jp-theme-name"];
  observer.observe(document.body, { attributes: true, attributeFilter });
  const media = ["(prefers-color-scheme: dark)", FORCED].map((query) => matchMedia(query));
  for (const each of media) each.addEventListener("change", changed);
  return () => {
    observer.disconnect();
    for (const each of media) each.removeEventListener("change", changed);
  };
}
