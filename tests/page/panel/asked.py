"""Questions that a page asks."""

from __future__ import annotations

from playwright.sync_api import Locator, expect


def chart(panel: Locator) -> Locator:
    return panel.locator("[data-tag=loss]")


def told(panel: Locator) -> Locator:
    """Returns the hover text of a mark."""
    return chart(panel).locator("[data-role=mark]")


def menu(panel: Locator) -> Locator:
    return panel.locator("[data-role=marks]")


def search(panel: Locator, text: str, *, height: float = 60) -> float:
    """Move the pointer along the chart until a mark is told of; where that was."""
    over = chart(panel).locator(".u-over")
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box is not None
    for left in range(0, int(box["width"]), 6):  # a mark is meant within seven pixels
        panel.page.mouse.move(box["x"] + left, box["y"] + height)
        if told(panel).is_visible() and text in told(panel).inner_text():
            return box["x"] + left
    raise AssertionError(f"no mark tells {text!r}")


def ask(panel: Locator, text: str) -> Locator:
    """Click on the mark that tells this; what it opens."""
    left = search(panel, text)
    box = chart(panel).locator(".u-over").bounding_box()
    assert box is not None
    panel.page.mouse.click(left, box["y"] + 60)
    expect(menu(panel)).to_be_visible()
    return menu(panel)
