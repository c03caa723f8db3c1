"""VS Code's notebook in Chromium: its bundle of ipywidgets, in the colours of its themes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anywidget
import pytest
from playwright.sync_api import ConsoleMessage, Page

from tests.page.bare import BarePage
from tests.page.kernel import FOLDER, Kernel

PACKAGE = FOLDER.parents[1] / "node_modules" / "@vscode" / "jupyter-ipywidgets8"

COLOURS = (
    "foreground",
    "descriptionForeground",
    "focusBorder",
    "editor-background",
    "editor-foreground",
    "editorWidget-background",
    "editorWidget-border",
    "panel-border",
    "input-background",
    "input-border",
    "input-foreground",
    "list-hoverBackground",
    "button-background",
    "button-foreground",
    "button-secondaryBackground",
    "button-secondaryForeground",
    "button-secondaryHoverBackground",
    "contrastBorder",
)


# Each word is the value of a colour, in the order of their names; a dash where a theme has none.
def _theme(words: str) -> dict[str, str]:
    values = zip(COLOURS, words.split(), strict=True)
    return {f"--vscode-{name}": value for name, value in values if value != "-"}


# Light Modern, Dark Modern, Dark High Contrast and Light High Contrast, by their kinds.
THEMES = {
    "vscode-light": _theme(
        "#3b3b3b #3b3b3b #005fb8 #ffffff #3b3b3b #f8f8f8 #c8c8c8 #e5e5e5 #ffffff #cecece #3b3b3b"
        " #f2f2f2 #005fb8 #ffffff #e5e5e5 #3b3b3b #cccccc -"
    ),
    "vscode-dark": _theme(
        "#cccccc #9d9d9d #0078d4 #1f1f1f #cccccc #202020 #454545 #2b2b2b #313131 #3c3c3c #cccccc"
        " #2a2d2e #0078d4 #ffffff #00000000 #cccccc #2b2b2b -"
    ),
    "vscode-high-contrast": _theme(
        "#ffffff rgba(255,255,255,0.7) #f38518 #000000 #ffffff #0c141f #6fc3df #6fc3df #000000"
        " #6fc3df #ffffff rgba(255,255,255,0.1) - #ffffff - #ffffff - #6fc3df"
    ),
    "vscode-high-contrast-light": _theme(
        "#292929 rgba(41,41,41,0.7) #006bbd #ffffff #292929 #ffffff #0f4a85 #0f4a85 #ffffff"
        " #0f4a85 #292929 rgba(15,74,133,0.1) #0f4a85 #ffffff #ffffff #292929 - #0f4a85"
    ),
}
FONTS = {
    "--vscode-font-family": "system-ui, Ubuntu, 'Droid Sans', sans-serif",
    "--vscode-editor-font-family": "'Droid Sans Mono', monospace",
}

# As VS Code does it: first the classes of the body, then the colours of the document.
PAINT = """\
([kind, colours]) => {
  const { classList, dataset } = document.body;
  classList.remove(...[...classList].filter((name) => name.startsWith("vscode-")));
  classList.add(kind);
  if (kind === "vscode-high-contrast-light") classList.add("vscode-high-contrast");
  dataset.vscodeThemeKind = kind;
  const { style } = document.documentElement;
  for (const name of [...style]) if (name.startsWith("--vscode-")) style.removeProperty(name);
  for (const [name, value] of Object.entries(colours)) style.setProperty(name, value);
}"""

# The texts and fields of a widget with a contrast below 4.5 to their ground, except disabled ones.
PALE = """\
(root) => {
  const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  const paint = (colours) => {
    pen.clearRect(0, 0, 1, 1);
    for (const colour of colours) {
      pen.fillStyle = colour;
      pen.fillRect(0, 0, 1, 1);
    }
    return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (rgb) => rgb.reduce((sum, byte, i) => {
    const part = byte / 255;
    const linear = part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    return sum + [0.2126, 0.7152, 0.0722][i] * linear;
  }, 0);
  const contrast = (element) => {
    const grounds = [];
    for (let at = element; at; at = at.parentElement)
      grounds.unshift(getComputedStyle(at).backgroundColor);
    const { color, fill } = getComputedStyle(element);
    const ink = element instanceof SVGElement ? fill : color;
    const [a, b] = [light(paint(grounds)), light(paint([...grounds, ink]))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  };
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const fields = "select, input:not([type=range], [type=checkbox])";
  const elements = new Set(root.querySelectorAll(fields));
  while (texts.nextNode())
    if (texts.currentNode.data.trim()) elements.add(texts.currentNode.parentElement);
  const off = ":disabled, :disabled *, [aria-disabled=true], option, style, .nbt-spoken";
  const seen = [...elements].filter((e) =>
    !e.matches(off) && e.checkVisibility({ visibilityProperty: true }));
  if (seen.length < 10) return [`only ${seen.length} texts`];
  const pale = seen.map((e) => [contrast(e), e]).filter(([ratio]) => ratio < 4.5);
  return pale.map(([ratio, e]) => `${ratio.toFixed(2)}: ${e.outerHTML.slice(0, 150)}`);
}"""


def require_bundle() -> None:
    """Skips the tests without VS Code's bundle, except where CI is set and npm could install it."""
    if not PACKAGE.exists() and not (os.environ.get("CI") and shutil.which("npm")):
        pytest.skip("VS Code's bundle is not installed: npm ci", allow_module_level=True)


class VSCodeKernel(Kernel):
    """Serves VS Code's page, whose models need their whole state."""

    files: Mapping[str, Path] = {
        **Kernel.files,
        "/": FOLDER / "vscode.html",
        "/ipywidgets.js": PACKAGE / "dist" / "ipywidgets.js",
        "/anywidget.js": Path(anywidget.__file__).parent / "nbextension" / "index.js",
    }

    def _shared(self, state: dict[str, Any]) -> dict[str, Any]:
        return state


class VSCodePage(BarePage):
    """A notebook of VS Code. Its errors are also those of the console."""

    def __init__(self, page: Page, kernel: Kernel, shell: Any) -> None:
        page.on("console", self._note_message)
        super().__init__(page, kernel, shell)

    def _note_message(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(message.text)

    def load(self, *, own_clock: bool = False) -> None:
        """Load the page, in the light theme."""
        super().load(own_clock=own_clock)
        self.theme("vscode-light")

    def theme(self, name: str) -> None:
        """Change the theme to one of `THEMES`."""
        self.page.evaluate(PAINT, [name, THEMES[name] | FONTS])
