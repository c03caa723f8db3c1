"""The horizontal axis of the panel's charts: steps, epochs, relative or wall time."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, expect

from nbtrain.core.states import Phase
from nbtrain.core.text.log_lines import LogLine
from nbtrain.rundir.journal import Mark
from tests.page.bare import BarePage
from tests.page.panel.charts import shown
from tests.panels import FakeRun

BEGAN = 1_790_000_000.0
EPOCH = 50  # steps
PAUSE = 600.0  # seconds, after step 100


def time_of(step: int) -> float:
    """A step takes a second, and the training stood still for a while."""
    return BEGAN + step - 1 + (PAUSE if step > 100 else 0)


@pytest.fixture
def went_back() -> FakeRun:
    """A run of 200 steps that went back to step 150 and trained on to step 180, with a pause."""
    run = FakeRun()

    def train(first: int, last: int, *, later: float = 0.0) -> None:
        steps = np.arange(first, last + 1)
        walls = np.array([time_of(int(step)) + later for step in steps])
        run.scalars.extend("loss", steps, walls, 1 / steps + later / 1e4)
        each = steps % 10 == 0
        run.scalars.extend("val_loss", steps[each], walls[each], 2 / steps[each])

    train(1, 200)
    run.marks.add(Mark("pause", 100, time_of(100)))
    run.marks.add(Mark("resume", 100, time_of(101) - 1))
    run.marks.add(Mark("restore", 200, time_of(200) + 5, to=150))
    run.scalars.open_segment(150)
    train(151, 180, later=60.0)
    epochs = {"epoch": 4, "epochs": 8, "epoch_began": 150, "epoch_steps": EPOCH}
    run.now(phase=Phase.FINISHED, step=180, values=run.scalars.last_values(), **epochs)
    return run


def choose(panel: Locator, axis: str) -> None:
    panel.get_by_label("horizontal axis").select_option(axis)
    expect(panel.locator("[data-tag=loss]")).to_have_attribute("data-axis", axis)


def reads(panel: Locator, part: float, words: str) -> None:
    """Wait until the chart of the loss tells this at a part of its width; a regular expression."""
    over = panel.locator("[data-tag=loss] .u-over")
    width = over.evaluate("e => e.clientWidth")
    over.hover(position={"x": part * width, "y": 60})
    legend = panel.locator("[data-tag=loss] [data-role=legend]")
    expect(legend).to_have_text(re.compile(words))


def test_each_axis_places_the_same_steps(page: BarePage, went_back: FakeRun) -> None:
    panel = shown(page, went_back)
    folder = os.environ.get("NBTRAIN_SCREENSHOTS")
    # At the middle of 200 steps or four epochs, and of the 860 s with the pause and the way back.
    found = {
        "step": r"^step 10[01] +0.0",
        "epoch": r"^step (10[01]) · epoch 2(.02)? +0.0",
        "relative": r"^step 100 · 1:39 +0.01",
        "wall": r"^step 100 · [\d-]* ?\d\d:\d\d:\d\d +0.01",
    }
    for axis, words in found.items():
        choose(panel, axis)
        reads(panel, 0.5 if axis in ("step", "epoch") else 0.3, words)
        if folder:
            panel.screenshot(path=Path(folder) / f"axis-{axis}.png", animations="disabled")


def test_in_time_the_abandoned_tail_and_what_followed_lie_beside_one_another(
    page: BarePage, went_back: FakeRun
) -> None:
    panel = shown(page, went_back)
    reads(panel, 0.8, r"^step 1[56]\d +0.0\S+val 0.01\d+( at 1[56]0)?$")
    choose(panel, "relative")
    # 0 to 839 s: the tail of steps 151 to 200 ends at 799 s, the other begins at 810 s.
    reads(panel, 0.93, r"^step 1[78]\d · 1[23]:\d\d +\S+ +abandoned")
    reads(panel, 0.99, r"^step 17\d · 13:\d\d +0.0\d+val 0.0\d+ at 170$")


def test_marks_stand_at_their_times(page: BarePage, went_back: FakeRun) -> None:
    panel = shown(page, went_back)
    choose(panel, "relative")
    over = panel.locator("[data-tag=loss] .u-over")
    width = over.evaluate("e => e.clientWidth")
    tip = panel.locator("[data-tag=loss] [data-role=mark]")
    for second, words in ((99, "pause · step 100"), (699, "resume"), (804, "restore · step 200")):
        over.hover(position={"x": width * second / 839, "y": 60})
        expect(tip).to_contain_text(words)


def test_the_axis_is_kept_over_a_reload_and_for_the_next_run(
    page: BarePage, went_back: FakeRun
) -> None:
    panel = shown(page, went_back)
    choose(panel, "epoch")
    page.load()
    panel = page.page.locator(".nbt")
    expect(panel.get_by_label("horizontal axis")).to_have_value("epoch")
    reads(panel, 0.5, "step 10[01] · epoch 2")
    other = FakeRun()
    steps = np.arange(1, 50)
    other.scalars.extend("loss", steps, np.float64(BEGAN) + steps, np.float64(1) / steps)
    other.now(phase=Phase.FINISHED, step=49)
    panel = shown(page, other)
    axis = panel.get_by_label("horizontal axis")
    expect(axis).to_have_value("step")
    refused = axis.locator("option[value=epoch]")
    expect(refused).to_be_disabled()
    expect(refused).to_have_text("epoch (no epochs known)")
    reads(panel, 0.5, r"^step 2\d +0.0")
    other.now(epoch=1, epoch_began=0)
    panel = shown(page, other)
    expect(panel.get_by_label("horizontal axis").locator("option[value=epoch]")).to_have_text(
        "epoch (steps per epoch unknown)"
    )


def test_a_zoom_stays_on_its_axis_and_goes_with_it(page: BarePage, went_back: FakeRun) -> None:
    panel = shown(page, went_back)
    over = panel.locator("[data-tag=loss] .u-over")
    box = over.bounding_box()
    assert box is not None
    page.page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 50)
    page.page.mouse.down()
    page.page.mouse.move(box["x"] + 0.75 * box["width"], box["y"] + 50, steps=4)
    page.page.mouse.up()
    reads(panel, 0.1, r"^step 1[01]\d ")
    panel.get_by_role("slider", name="smoothing").fill("0.6")
    reads(panel, 0.1, r"^step 1[01]\d .*smoothed")
    choose(panel, "wall")
    reads(panel, 0.1, r"^step [89]\d · ")  # all of it is in sight again


def test_a_logarithmic_axis_is_not_one_of_wall_times(page: BarePage, went_back: FakeRun) -> None:
    panel = shown(page, went_back)
    log = panel.get_by_label("log x")
    log.check()
    choose(panel, "relative")
    expect(log).to_be_checked()
    reads(panel, 0.5, r"^step [23]\d · [23]\d s")  # the root of 839 s
    choose(panel, "epoch")
    reads(panel, 0.5, r"epoch 0.2\d")  # the root of 0.02 times 4
    choose(panel, "wall")
    expect(log).not_to_be_checked()
    expect(log).to_be_disabled()


def test_a_line_of_the_log_is_shown_at_its_time(page: BarePage, went_back: FakeRun) -> None:
    known = LogLine(time_of(100), 100, "INFO", "print", "here")
    went_back.log.add([known, LogLine(0.0, 5, "INFO", "print", "of an unknown time")])
    panel = shown(page, went_back)
    choose(panel, "wall")
    panel.locator("[data-role=log]").click()
    panel.get_by_role("button", name="5", exact=True).click()
    panel.get_by_role("button", name="100", exact=True).click()
    expect(panel.locator("[data-tag=loss] [data-role=legend]")).to_contain_text("step 100 · ")
