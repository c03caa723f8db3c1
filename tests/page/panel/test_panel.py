"""The panel: its curves, its numbers, its log, and what it says when a run or a kernel fails."""

from __future__ import annotations

import itertools
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from playwright.sync_api import Locator, expect

import nbtrain
from nbtrain.panel.live.panel import Panel
from nbtrain.rundir.mailbox import Address
from tests.gate import eventually
from tests.page.bare import BarePage, click, phase, receipt, silent, step_of, wait_for_step
from tests.panels import FakeRun


def test_a_failed_run_shows_the_traceback_and_can_be_started_again(page: BarePage) -> None:
    steps = itertools.count()

    def broken() -> dict[str, Any]:
        if next(steps) == 5:
            raise ValueError("my own line")
        return {"x": 1.0}

    run = nbtrain.train(broken, name="broken")
    cell = page.show(run)
    shown = cell.locator("pre", has_text="ValueError: my own line")
    expect(shown.first).to_be_visible()
    assert 'raise ValueError("my own line")' in shown.first.inner_text()
    run.start()
    phase(page.panel(run), "running")
    assert run.status.error is None


def test_a_curve_that_comes_later_leaves_the_first_its_place(page: BarePage) -> None:
    @nbtrain.background
    def later(run: nbtrain.Run) -> None:
        while not run.should_stop():
            time.sleep(0.01)
            run.record(first=1.0)
            if run.status.step > 50:
                run.record(second=2.0)

    panel = page.panel(later)
    expect(panel.locator(".uplot")).to_have_count(2)
    for chart in panel.locator(".nbt-plot").all():
        plot = chart.locator(".uplot")
        page.page.wait_for_function(
            "([plot, room]) => plot.clientWidth > 0 && plot.clientWidth <= room.clientWidth",
            arg=[plot.element_handle(), chart.element_handle()],
        )


def whole(text: Locator) -> bool:
    """Returns whether a text is shown whole."""
    fits: bool = text.evaluate("e => e.scrollWidth <= e.clientWidth && e.scrollHeight <= 24")
    return fits


def test_a_long_tag_leaves_the_values_whole(page: BarePage) -> None:
    @nbtrain.background
    def long(run: nbtrain.Run) -> None:
        while not run.should_stop():
            time.sleep(0.01)
            run.record({"first": 1.0, "x" * 200: 123456.0})

    chart = page.panel(long).locator(f"[data-tag={'x' * 200}]")
    last, legend = chart.locator(".nbt-last"), chart.locator("[data-role=legend]")
    expect(last).to_have_text("1.235e+05")
    assert whole(last)
    chart.locator(".u-over").hover(position={"x": 100, "y": 60})
    expect(legend).to_have_text(re.compile(r"step \d+\s+1\.235e\+05"))
    assert whole(legend)
    assert last.evaluate("e => e.clientWidth == 0")  # and no part of it is left


def test_hover_zoom_and_log_scale(panel: Locator) -> None:
    wait_for_step(panel, 100)
    chart = panel.locator("[data-tag=loss]")
    over = chart.locator(".u-over")
    over.hover(position={"x": 100, "y": 60})
    expect(chart.locator("[data-role=legend]")).to_have_text(re.compile(r"step [\d,]+\s+\d"))
    expect(panel.locator("[data-tag=accuracy] [data-role=legend]")).to_contain_text("step")
    toggle = chart.get_by_role("button", name="log")
    toggle.click()
    expect(toggle).to_have_attribute("aria-pressed", "true")
    expect(over).to_be_visible()


AT_END = "e => e.scrollTop + e.clientHeight >= e.scrollHeight - 2"


@pytest.fixture
def talking() -> Iterator[None]:
    """TensorFlow's logger, with its remarks too."""
    logger = tf.get_logger()
    level = logger.level
    logger.setLevel("INFO")
    yield
    logger.setLevel(level)


@pytest.mark.usefixtures("talking")
def test_the_newest_line_of_the_log_is_in_view_unless_the_reader_has_scrolled_up(
    page: BarePage,
) -> None:
    @nbtrain.background
    def talk(run: nbtrain.Run) -> None:
        while not run.should_stop():
            time.sleep(0.02)
            tf.get_logger().info("line %d", run.status.step)

    panel = page.panel(talk)
    wait_for_step(panel, 60)  # more lines than there is room for
    panel.locator(".nbt-log summary").click()
    log = panel.locator(".nbt-log-box")
    newest = log.locator(".nbt-log-line").last

    def grows() -> None:
        lines = page.page.locator(".nbt-log summary")
        count = int(re.sub(r"\D", "", lines.inner_text()))
        page.page.wait_for_function(
            "([lines, count]) => Number(lines.textContent.replace(/\\D/g, '')) >= count + 5",
            arg=[lines.element_handle(), count],
        )

    for _ in range(2):
        expect(newest).to_contain_text("line ")
        assert log.evaluate(AT_END)
        grows()
    log.evaluate("e => { e.scrollTop = 40; }")
    grows()
    assert log.evaluate("e => e.scrollTop") == 40
    log.evaluate("e => { e.scrollTop = e.scrollHeight; }")
    grows()
    assert log.evaluate(AT_END)


def test_a_page_whose_first_word_was_lost_asks_again(page: BarePage, run: nbtrain.Run) -> None:
    page.load(own_clock=True)
    page.kernel.lose_hello()
    panel = page.panel(run)
    page.ask_again()
    phase(panel, "running")


def test_a_kernel_that_hangs_is_told_and_all_is_as_before_when_it_speaks_again(
    page: BarePage, run: nbtrain.Run
) -> None:
    page.load(own_clock=True)
    panel = page.panel(run)
    wait_for_step(panel, 50)
    speed = panel.locator("[data-role=speed]")
    expect(speed).to_be_visible()
    page.kernel.hang()
    page.page.clock.run_for(20_000)
    silent(panel)
    expect(panel.locator(":is([data-role=speed], [data-role=left])")).to_have_count(0)
    expect(panel.locator("[data-role=elapsed]")).to_be_visible()
    page.kernel.go_on()
    expect(speed).to_be_visible()
    expect(panel.locator("[data-role=silence]")).to_be_hidden()
    phase(panel, "▶ running")
    wait_for_step(panel, step_of(panel) + 50)
    click(panel, "save")
    receipt(panel, "saved ckpt-")


def test_a_copy_that_is_gone_leaves_the_list_though_no_mark_has_changed(panel: Locator) -> None:
    copies = panel.locator("[data-role=checkpoints] option", has_text="copy")
    click(panel, "pause")
    phase(panel, "paused")
    expect(copies).not_to_have_count(0)
    for file in Path("runs/paced/checkpoints/last_good").iterdir():
        file.unlink()
    expect(copies).to_have_count(0)


def test_what_the_kernel_makes_of_a_wrong_message_is_told(page: BarePage, panel: Locator) -> None:
    (widget,) = page.kernel.widgets
    page.kernel.hear(json.dumps({"id": widget, "content": {"t": "alive", "seq": 10**9}}))
    told = panel.locator("[data-role=note]")
    expect(told).to_have_text("A message was ignored: no message with seq=1000000000 was sent")
    wait_for_step(panel, step_of(panel) + 50)
    expect(told).to_be_visible()


def test_a_click_that_the_kernel_does_not_know_is_refused_in_words(panel: Locator) -> None:
    save = panel.locator("[data-command=save]")
    save.evaluate("button => { button.dataset.command = 'fly'; button.click(); }")
    receipt(panel, "✕ fly: There is no command 'fly': give one of stop, pause")
    click(panel, "pause")
    receipt(panel, "✓ paused")


def test_a_run_of_another_process_goes_on_without_the_kernel(page: BarePage) -> None:
    run = FakeRun()
    run.trained_by = "process 4711 on lab-3"
    run.mailbox = Address(Path("/lab/runs/digits"), "9f6c02d1")
    widget = Panel(run)
    panel = page.show(widget).locator(".nbt")

    def shows() -> bool:
        widget.tick()
        return panel.get_attribute("data-phase") == "running"

    eventually(shows)
    page.kernel.die()
    expect(panel.locator("[data-role=silence]")).to_contain_text(
        "The run does not need it: process 4711 on lab-3 trains. "
        'To follow it again, call nbtrain.attach("/lab/runs/digits").',
    )
