"""Pinned cards of a board: before all others, for this board and for the next one."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.logdirs import write_cards, write_curves
from tests.page.bare import BarePage
from tests.page.board.boards import chart_of, drawn

PINS = "[data-group='/']"


@pytest.fixture
def board(page: BarePage, own_folder: Path) -> Locator:
    """A board of three tags in three groups."""
    write_curves(own_folder / "logs")
    return drawn(page.line("scalars logs"))


def tags(board: Locator) -> list[str | None]:
    """The tags of the cards, from above."""
    return [card.get_attribute("data-tag") for card in board.locator("section[data-tag]").all()]


def pin(board: Locator, tag: str) -> Locator:
    return board.locator(f"section[data-tag='{tag}']:visible [data-act=pin]")


def test_a_pinned_chart_stands_before_all_groups_and_keeps_the_focus(board: Locator) -> None:
    assert tags(board) == ["rate", "train/loss", "validation/accuracy"]
    expect(board.locator(PINS)).to_have_count(0)
    pin(board, "validation/accuracy").press("Enter")
    expect(pin(board, "validation/accuracy")).to_be_focused()
    expect(pin(board, "validation/accuracy")).to_have_attribute("aria-pressed", "true")
    pin(board, "train/loss").click()
    expect(board.locator(f"{PINS} summary")).to_have_text("★ pinned2")
    assert tags(board) == ["validation/accuracy", "train/loss", "rate"]
    expect(chart_of(board, "train/loss")).to_have_attribute("data-points", "1500")
    pin(board, "validation/accuracy").click()
    pin(board, "train/loss").click()
    expect(board.locator(PINS)).to_have_count(0)
    assert tags(board) == ["rate", "train/loss", "validation/accuracy"]


def test_pins_outlast_a_reload_and_are_those_of_the_next_board_and_of_compare(
    page: BarePage, board: Locator
) -> None:
    pin(board, "train/loss").click()
    page.load()
    board = drawn(page.page.locator(f"#cell-{page.kernel.cell}"))
    expect(board.locator(f"{PINS} section")).to_have_attribute("data-tag", "train/loss")
    after = drawn(page.line("compare logs --tags ^train"))
    expect(after.locator(f"{PINS} section")).to_have_attribute("data-tag", "train/loss")
    pin(after, "train/loss").click()
    expect(board.locator(PINS)).to_have_count(0)


def test_a_filter_leaves_a_pinned_chart_out_like_any_other(board: Locator) -> None:
    pin(board, "train/loss").click()
    board.locator("[data-role=filter-tags]").fill("accuracy")
    expect(board.locator(PINS)).to_have_count(0)
    assert tags(board) == ["validation/accuracy"]
    board.locator("[data-role=filter-tags]").fill("")
    expect(board.locator(f"{PINS} section")).to_have_count(1)


def test_a_pinned_card_brings_those_of_its_tag_in_all_runs(
    page: BarePage, own_folder: Path
) -> None:
    write_cards(own_folder / "cards", range(2))
    cell = page.line("histograms cards")
    board = cell.locator(".nbt-board")
    expect(board.locator("canvas").first).to_be_visible()
    board.locator("section[data-run=sgd] [data-act=pin]").click()
    pinned = board.locator(f"{PINS} section")
    expect(pinned).to_have_count(2)
    board.get_by_role("tab", name="Distributions").click()
    expect(pinned.locator("visible=true")).to_have_count(2)
    board.locator("[data-run=adam] input").uncheck()
    expect(pinned.locator("visible=true")).to_have_count(1)
