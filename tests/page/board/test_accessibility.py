"""The boards for a reader who hears them, has no pointer, or has chosen other colours or sizes."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.logdirs import write_cards, write_curve, write_graph, write_pr_curves, write_tables
from tests.page.axe import as_in_jupyterlab, check, fits, walk
from tests.page.bare import SIZE, BarePage
from tests.page.board.boards import chart_of, drawn, shown

# The tabs, and what each of them shows when it is ready.
TABS = {
    "scalars": ".u-over",
    "images": ".nbt-card img",
    "histograms": ".nbt-card canvas",
    "distributions": ".nbt-card .u-over",
    "text": ".nbt-card .nbt-text",
    "audio": ".nbt-card audio",
    "pr_curves": ".nbt-card .u-over",
    "graphs": ".nbt-item",
    "hparams": "tbody [data-session]",
    "custom_scalars": ".u-over",
    "compare": "tbody tr",
}


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A logdir with something for every tab."""
    logdir = tmp_path_factory.mktemp("logs")
    write_curve(logdir / "adam", "rate", [1.0, float("nan"), 0.5])
    write_cards(logdir, range(3))
    write_pr_curves(logdir, range(2))
    write_graph(logdir / "tf1")
    write_tables(logdir)
    return logdir


def turn_to(board: Locator, tab: str) -> None:
    """Brings a tab to the front."""
    board.locator(f".nbt-tabs [data-tab={tab}]").click()
    expect(board.locator(TABS[tab]).first).to_be_visible()


def test_no_tab_of_a_board_breaks_a_rule_of_axe(page: BarePage, logdir: Path) -> None:
    board = drawn(page.line(f"scalars {logdir}"))
    board.locator("[data-act=table]").first.click()
    check(page)
    as_in_jupyterlab(page)
    for tab in TABS:
        turn_to(board, tab)
        if tab == "graphs":
            board.locator(".nbt-item").first.click()
        if tab == "hparams":
            for act in ("Filters", "Columns"):
                board.locator(f"[data-act={act}]").click()
        check(page)


def test_several_boards_of_a_page_break_no_rule_of_axe(page: BarePage, logdir: Path) -> None:
    drawn(page.line(f"scalars {logdir}"))
    drawn(page.line(f"scalars {logdir}"))
    board = shown(page.line(f"hparams {logdir}"))
    for view in ("Parallel coordinates", "Scatter"):
        board.get_by_role("tab", name=view).click()
        check(page)


def test_the_tab_key_leads_to_every_control_of_a_board(page: BarePage, logdir: Path) -> None:
    board = drawn(page.line(f"scalars {logdir}"))
    for tab in ("scalars", "hparams", "graphs", "audio"):
        turn_to(board, tab)
        if tab == "hparams":
            board.locator("[data-act=Filters]").click()
        walk(board)


def test_the_arrow_keys_and_a_summary_tell_the_values_of_runs(page: BarePage, logdir: Path) -> None:
    board = drawn(page.line(f"scalars {logdir}"))
    chart = chart_of(board, "rate").get_by_role("group", name="chart of rate")
    expect(chart).to_have_attribute("aria-description", "adam: last 0.5, lowest 0.5, highest 1")
    chart.press("End")
    expect(chart.get_by_role("status")).to_have_text("step 2, adam0.5")


def test_a_board_fits_a_page_of_twice_the_size(page: BarePage, logdir: Path) -> None:
    page.page.set_viewport_size({"width": SIZE["width"] // 2, "height": SIZE["height"] // 2})
    board = drawn(page.line(f"scalars {logdir}"))
    for tab in TABS:
        turn_to(board, tab)
        fits(board)
