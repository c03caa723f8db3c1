"""The board's precision-recall curves: a chart for each tag, a slider for each run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.event_files import NAME, written
from tests.logdirs import write_pr_curves
from tests.other_events import event, tensor2
from tests.page.bare import BarePage, wait_until_coloured


@pytest.fixture
def logdir(own_folder: Path) -> Path:
    """A logdir of two runs that wrote the curves of two classes at five steps."""
    write_pr_curves(own_folder / "logs", range(5))
    return own_folder / "logs"


@pytest.fixture
def board(page: BarePage, logdir: Path) -> Locator:
    """A board of its curves, which it follows."""
    board = page.line("pr_curves logs --follow").locator(".nbt-board")
    expect(chart_of(board, "cat").locator(".nbt-plot")).to_have_attribute("data-curves", "2")
    return board


def chart_of(board: Locator, tag: str) -> Locator:
    return board.locator(f'section[data-tag="{tag}"]')


def slider_of(board: Locator, tag: str, run: str) -> Locator:
    return chart_of(board, tag).locator(f'[data-run="{run}"] [data-role=step]')


def test_each_tag_has_a_chart_with_a_curve_for_each_run(page: BarePage, board: Locator) -> None:
    expect(board.get_by_role("tab")).to_have_text(["Scalars", "PR Curves"])
    expect(board.locator("[data-role=tag-count]")).to_have_text("2 of 2 tags")
    for tag in ("cat", "dog"):
        expect(chart_of(board, tag).locator(".nbt-plot")).to_have_attribute("data-curves", "2")
        expect(chart_of(board, tag)).to_have_attribute("data-steps", "4,4")
    canvas = chart_of(board, "cat").locator("canvas")
    wait_until_coloured(canvas)


def test_the_pointer_reads_the_nearest_point_of_each_run(page: BarePage, board: Locator) -> None:
    over = chart_of(board, "cat").locator(".u-over")
    box = over.bounding_box()
    assert box is not None
    over.hover(position={"x": box["width"] * 0.7, "y": box["height"] * 0.2})
    tip = chart_of(board, "cat").locator("[data-role=values]")
    told = [r"threshold\s[\d.]+precision\s[\d.]+", r"recall\s[\d.]+"]
    told += [rf"{count}\s\d+" for count in ("TP", "FP", "TN", "FN")]
    numbers = r"\s+".join(told)
    expect(tip).to_have_text(re.compile(f"(adam|sgd){numbers}(adam|sgd){numbers}"))
    expect(tip.locator(".nbt-nearest")).to_have_count(1)
    chart_of(board, "cat").locator(".nbt-plot").focus()
    page.page.keyboard.press("Home")
    before = tip.inner_text()
    page.page.keyboard.press("Shift+ArrowRight")
    expect(tip).not_to_have_text(before)
    expect(tip).to_be_visible()


def test_a_slider_stays_where_it_was_put_and_one_at_the_end_follows(
    page: BarePage, board: Locator, logdir: Path
) -> None:
    slider_of(board, "cat", "adam").focus()
    for _ in range(2):
        page.page.keyboard.press("ArrowLeft")
    expect(chart_of(board, "cat")).to_have_attribute("data-steps", "2,4")
    label = chart_of(board, "cat").locator('[data-run="adam"] [data-role=shown-step]')
    expect(label).to_have_text(re.compile(r"step 2\s+20\d\d-"))
    expect(chart_of(board, "dog")).to_have_attribute("data-steps", "4,4")
    write_pr_curves(logdir, range(5, 8))
    expect(chart_of(board, "cat")).to_have_attribute("data-steps", "2,7")
    expect(chart_of(board, "dog")).to_have_attribute("data-steps", "7,7")
    slider_of(board, "cat", "adam").press("End")
    expect(chart_of(board, "cat")).to_have_attribute("data-steps", "7,7")


def test_curves_keep_to_the_filters_and_to_the_list_of_runs(board: Locator) -> None:
    board.locator('.nbt-runs [data-run="sgd"] input').uncheck()
    expect(chart_of(board, "cat").locator(".nbt-plot")).to_have_attribute("data-curves", "1")
    expect(chart_of(board, "cat").locator("[data-role=step]")).to_have_count(1)
    board.locator('.nbt-runs [data-run="sgd"] input').check()
    expect(chart_of(board, "cat").locator(".nbt-plot")).to_have_attribute("data-curves", "2")
    board.locator("[data-role=filter-tags]").fill("d.g")
    expect(board.locator("section[data-tag]")).to_have_count(1)
    expect(board.locator("[data-role=tag-count]")).to_have_text("1 of 2 tags")


def test_a_run_that_cannot_be_read_says_why_beside_the_others(
    page: BarePage, own_folder: Path, logdir: Path
) -> None:
    written(logdir / "bad" / NAME, [event(0, tensor2("cat", "pr_curves", [[1.0], [2.0]]))])
    board = page.line("pr_curves logs --tags cat").locator(".nbt-board")
    note = chart_of(board, "cat").locator('[data-run="bad"] [data-role=note]')
    expect(note).to_contain_text("its shape is (2, 1), not (6, thresholds)")
    expect(chart_of(board, "cat").locator(".nbt-plot")).to_have_attribute("data-curves", "2")


def test_curves_are_drawn_again_in_another_theme_and_width(page: BarePage, board: Locator) -> None:
    canvas = chart_of(board, "cat").locator("canvas")
    width = canvas.evaluate("c => c.clientWidth")
    page.theme("dark")
    expect(board).to_have_attribute("data-theme", "dark")
    page.page.set_viewport_size({"width": 480, "height": 1200})
    expect(canvas).not_to_have_js_property("clientWidth", width)
    wait_until_coloured(canvas)
    assert board.evaluate("e => e.scrollWidth <= e.clientWidth")
