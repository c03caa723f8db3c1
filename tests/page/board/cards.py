"""Cards of a board on a page."""

from __future__ import annotations

from playwright.sync_api import Locator, expect


def turn_to(board: Locator, name: str) -> None:
    board.get_by_role("tab", name=name).click()
    expect(board.get_by_role("tab", name=name)).to_have_attribute("aria-selected", "true")
