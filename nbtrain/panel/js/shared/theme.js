// The notebook's theme, as the charts need it: common.css holds every colour, and takes those
// of JupyterLab or VS Code where there are any.

/**
 * The colours and the font to paint with, as the theme stands.
 * @typedef {ReturnType<typeof paints>} Paint
 */

/**
 * Light text lies on a dark page: true in every notebook, also in one that is not known.
 * @param {HTMLElement} root
 */
export function isDark(root) {
  const { dataset, classList } = document.body;
  if (dataset.jpThemeLight) return dataset.jpThemeLight === "false";
  if (classList.contains("vscode-dark") || classList.contains("vscode-high-contrast")) return true;
  if (classList.contains("vscode-light")) return false;
  const parts = getComputedStyle(root).color.match(/[\d.]+/g) ?? [];
  const [red, green, blue] = parts.map(Number);
  return 0.3 * red + 0.6 * green + 0.1 * blue > 128;
}

/**
 * The colours to paint with, as the page stands now.
 * @param {HTMLElement} root
 */
export function paints(root) {
  const style = getComputedStyle(root);
  /** @param {string} name */
  const read = (name) => style.getPropertyValue(name).trim();
  return {
    text: read("--soft"),
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
 * Calls `changed` when the theme does; returns what ends that.
 * @param {() => void} changed
 */
export function watch(changed) {
  const observer = new MutationObserver(changed);
  const attributeFilter = ["class", "data-jp-theme-light", "data-jp-theme-name"];
  observer.observe(document.body, { attributes: true, attributeFilter });
  const media = matchMedia("(prefers-color-scheme: dark)");
  media.addEventListener("change", changed);
  return () => {
    observer.disconnect();
    media.removeEventListener("change", changed);
  };
}
