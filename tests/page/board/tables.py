"""Tables of a board on a page."""

from __future__ import annotations

from playwright.sync_api import Locator, expect


def shown(cell: Locator) -> Locator:
    """The board in a cell, once a page of it is there."""
    board = cell.locator(".nbt-board")
    expect(board.locator(".nbt-front")).to_be_visible()
    return board


def count(board: Locator, text: str) -> None:
    expect(board.locator("[data-role=row-count]")).to_have_text(text)
