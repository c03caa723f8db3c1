// Colours of the notebook's theme, read when something is drawn, so that a switch shows at once.

const LIGHT = ["#1a6fb0", "#c75300", "#187a4c", "#7d4bb3", "#8a6100", "#b3144f"];
const DARK = ["#6cb6ff", "#ff9e57", "#5fd39a", "#c59bff", "#e3c04f", "#ff86b3"];

export function isDark() {
  const { body } = document;
  if (body.dataset.jpThemeLight) return body.dataset.jpThemeLight === "false";
  if (/vscode-(dark|light)/.test(body.className)) return body.classList.contains("vscode-dark");
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

export const colour = (index) => (isDark() ? DARK : LIGHT)[index % LIGHT.length];
export const faint = (index) => colour(index) + "38"; // about a fifth opaque
export const text = () => (isDark() ? "#bdbdbd" : "#555555");
export const grid = () => (isDark() ? "#ffffff1c" : "#00000014");
export const grey = () => (isDark() ? "#9a9a9a" : "#808080");
export const red = () => (isDark() ? "#ff7b72" : "#c62828");

// Calls `changed` when the theme does; returns what ends that.
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
