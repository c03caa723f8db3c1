"""The rules of accessibility that axe-core checks in a page."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.page.bare import BarePage

SCRIPT = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
THEMES = Path(sys.prefix, "share", "jupyter", "lab", "themes", "@jupyterlab")

# The rule, the element and the reason of each violation in panels and boards.
RUN = """\
async () => {
  const options = { resultTypes: ["violations"], preload: false };
  const { violations } = await axe.run({ include: [[".nbt"]] }, options);
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} at ${target}: ${failureSummary}`));
}"""
BODY = """\
body[data-jp-theme-light] {
  background: var(--jp-layout-color0);
  color: var(--jp-ui-font-color1);
}"""


def check(page: BarePage) -> None:
    """Checks that the panels and boards of a page break no rule, in light and dark.

    Without axe-core the test is skipped, except where CI is set and npm could install it.
    """
    if not SCRIPT.exists() and not (os.environ.get("CI") and shutil.which("npm")):
        pytest.skip("axe-core is not installed: npm ci")
    if not page.page.evaluate("'axe' in window"):
        page.page.evaluate(SCRIPT.read_text(encoding="utf-8"))
    found = []
    for theme in ("light", "dark"):
        page.theme(theme)
        for widget in page.page.locator(".nbt").all():
            expect(widget).to_have_attribute("data-theme", theme)
        found += [f"{theme}: {each}" for each in page.page.evaluate(RUN)]
    assert not found, "\n".join(found)


# Notes each element of a widget that gets the focus, and whether it then has a ring that it had not
# before. The focus begins at a button before the widget.
BEGIN = """\
(root) => {
  const ring = (e) => {
    const { outlineStyle, outlineWidth, outlineColor, boxShadow } = getComputedStyle(e);
    const { stroke } = getComputedStyle(e.querySelector("rect") ?? e); // of a graph's node
    return [outlineStyle === "none" ? "" : outlineWidth + outlineColor, boxShadow, stroke].join();
  };
  const plain = new Map([...root.querySelectorAll("*")].map((e) => [e, ring(e)]));
  window.met = new Map();
  root.addEventListener("focusin", ({ target }) =>
    met.set(target, ring(target) !== plain.get(target)));
  const button = document.createElement("button");
  root.before(button);
  button.focus();
}"""
# The controls that were left out, or had no ring.
MISSED = """\
(root) => {
  const controls = ":is(button, input, select):enabled, summary, audio, [href], [tabindex]";
  const missed = [...root.querySelectorAll(controls)].filter(
    (e) => e.tabIndex >= 0 && e.checkVisibility({ visibilityProperty: true }) && !met.get(e));
  return missed.map((e) => (met.has(e) ? "no ring: " : "left out: ") + e.outerHTML.slice(0, 200));
}"""


def walk(widget: Locator) -> None:
    """Checks that the Tab key leads through all controls of a widget, each with a visible ring."""
    widget.evaluate(BEGIN)
    inside = True
    while inside:
        widget.page.keyboard.press("Tab")
        inside = widget.evaluate("(root) => root.contains(document.activeElement)")
    missed = widget.evaluate(MISSED)
    assert not missed, "\n".join(missed)


def as_in_jupyterlab(page: BarePage) -> None:
    """Gives a page the colours of JupyterLab's themes."""
    for light, theme in (("true", "light"), ("false", "dark")):
        path = THEMES / f"theme-{theme}-extension" / "index.css"
        css = path.read_text(encoding="utf-8").replace(":root", f"[data-jp-theme-light={light}]")
        page.page.add_style_tag(content=css)
    page.page.add_style_tag(content=BODY)


# The controls that are not whole in the width of the window, except those of a region that scrolls.
OUTSIDE = """\
(root) => [...root.querySelectorAll("button, input, select, summary, .nbt-plot")].filter((e) => {
  const { left, right, width } = e.getBoundingClientRect();
  return width && (left < 0 || right > innerWidth) && !e.closest(".nbt-sheet, .nbt-tabs");
}).map((e) => e.outerHTML.slice(0, 200))"""


def fits(widget: Locator) -> None:
    """Checks that a widget is not wider than the window."""
    outside = widget.evaluate(OUTSIDE)
    assert not outside, "\n".join(outside)
    assert widget.evaluate("e => e.scrollWidth <= e.clientWidth")
