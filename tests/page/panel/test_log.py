"""The log in the panel: folded, opened, filtered, searched, and a line that shows its step."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Locator, expect

import nbtrain
from nbtrain.core.text.log_lines import MOST_LINES, LogLine
from tests.page.bare import BarePage, phase
from tests.page.paced import Paced

LINES = [
    LogLine(1.7e9 + n, n, "WARNING" if n % 10 == 0 else "INFO", "print", f"line {n} of the log")
    for n in range(100)
]
FAILED = LogLine(1.7e9 + 200, 40, "ERROR", "tensorflow", "no Memory is left")


@pytest.fixture
def logged(page: BarePage, paced: Paced) -> tuple[nbtrain.Run, Locator]:
    """A running training with a log of 101 lines, and its panel."""
    run = paced.train()
    run.log.add([*LINES, FAILED])
    panel = page.panel(run)
    phase(panel, "running")
    return run, panel


def opened(panel: Locator) -> Locator:
    """The log, once it is open."""
    log = panel.locator(".nbt-log")
    log.locator("summary").click()
    expect(log.locator(".nbt-log-line").first).to_be_visible()
    return log


def test_a_run_without_lines_has_no_log(page: BarePage, run: Any, panel: Locator) -> None:
    expect(panel.locator(".nbt-log")).to_be_hidden()


def test_a_folded_log_says_how_many_lines_it_has_and_the_newest(
    logged: tuple[nbtrain.Run, Locator],
) -> None:
    log = logged[1].locator(".nbt-log")
    expect(log.locator("summary")).to_have_text(
        "Log: 101 lines, 10 warnings, 1 error · no Memory is left"
    )
    expect(log.locator(".nbt-log-line")).to_have_count(0)


def test_an_open_log_follows_its_end_until_the_reader_scrolls(
    logged: tuple[nbtrain.Run, Locator],
) -> None:
    run, panel = logged
    log = opened(panel)
    last = log.locator(".nbt-log-line").last
    expect(last).to_contain_text("no Memory is left")
    run.log.add([LogLine(1.7e9, 50, "INFO", "print", "the newest")])
    expect(last).to_contain_text("the newest")
    log.locator(".nbt-log-box").evaluate("box => (box.scrollTop = 0)")
    first = log.locator(".nbt-log-line").first
    expect(first).to_contain_text("line 0 of the log")
    run.log.add([LogLine(1.7e9, 50, "INFO", "print", "newer still")])
    expect(log.locator("summary")).to_contain_text("103 lines")
    expect(first).to_contain_text("line 0 of the log")
    log.get_by_role("button", name="Follow").click()
    expect(last).to_contain_text("newer still")


def test_a_log_is_filtered_and_searched(logged: tuple[nbtrain.Run, Locator]) -> None:
    log = opened(logged[1])
    lines = log.locator(".nbt-log-line")
    log.get_by_label("source").select_option("tensorflow")
    expect(lines).to_have_count(1)
    expect(log.locator(".nbt-log-count")).to_have_text("1 of 101")
    log.get_by_label("source").select_option("all sources")
    log.get_by_label("minimum level").select_option("error and above")
    expect(lines).to_have_count(1)
    log.get_by_label("minimum level").select_option("all levels")
    log.get_by_label("search the log").fill("LINE 7 OF")
    expect(lines).to_have_count(1)
    expect(lines.locator("span").last).to_have_text("line 7 of the log")


def test_a_line_shows_its_step_in_the_charts(
    page: BarePage, logged: tuple[nbtrain.Run, Locator]
) -> None:
    run, panel = logged
    expect(panel.locator(".uplot").first).to_be_visible()
    log = opened(panel)
    run.pause().wait(60)
    chart = panel.locator("[data-tag=loss]")
    log.locator("[data-step='40'] button").click()
    expect(chart.locator(".nbt-dot").first).to_be_visible()


def test_an_open_log_is_open_in_the_next_panel(
    page: BarePage, logged: tuple[nbtrain.Run, Locator]
) -> None:
    run, panel = logged
    opened(panel)
    again = page.panel(run).locator(".nbt-log")
    expect(again.locator(".nbt-log-line").last).to_be_visible()


def test_ten_thousand_lines_are_there_and_few_are_made(page: BarePage, paced: Paced) -> None:
    run = paced.train()
    run.log.add(LINES * (MOST_LINES // len(LINES)))
    panel = page.panel(run)
    phase(panel, "running")
    log = opened(panel)
    box = log.locator(".nbt-log-box")
    expect(log.locator(".nbt-log-line").last).to_contain_text("line 99 of the log")
    page.page.wait_for_function("box => box.scrollHeight >= 10000 * 18", arg=box.element_handle())
    assert log.locator(".nbt-log-line").count() < 40
