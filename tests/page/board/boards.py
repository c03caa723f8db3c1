"""A board on a page: its tabs, its charts and its tables."""

from __future__ import annotations

from playwright.sync_api import Locator, expect


def shown(cell: Locator) -> Locator:
    """The board in a cell, once a page of it is there."""
    board = cell.locator(".nbt-board")
    expect(board.locator(".nbt-front")).to_be_visible()
    return board


def drawn(cell: Locator) -> Locator:
    """The board in a cell, once it has drawn a curve."""
    board = cell.locator(".nbt-board")
    board.locator("section[data-tag]").first.scroll_into_view_if_needed()
    expect(board.locator(".u-over").first).to_be_visible()
    return board


def chart_of(board: Locator, tag: str) -> Locator:
    """A chart, scrolled into sight: out of it there is nothing drawn."""
    chart = board.locator(f'section[data-tag="{tag}"]')
    chart.scroll_into_view_if_needed()
    expect(chart.locator(".u-over")).to_be_visible()
    return chart


def drag(chart: Locator, begin: float, end: float) -> None:
    """Drag over a part of a chart, from 0 to 1."""
    box = chart.locator(".u-over").bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    chart.page.mouse.move(box["x"] + begin * box["width"], y)
    chart.page.mouse.down()
    chart.page.mouse.move(box["x"] + (begin + end) / 2 * box["width"], y)
    chart.page.mouse.move(box["x"] + end * box["width"], y)
    chart.page.mouse.up()


def turn_to(board: Locator, name: str) -> None:
    board.get_by_role("tab", name=name).click()
    expect(board.get_by_role("tab", name=name)).to_have_attribute("aria-selected", "true")


def count(board: Locator, text: str) -> None:
    """Wait for the words about the rows of a table."""
    expect(board.locator("[data-role=row-count]")).to_have_text(text)
