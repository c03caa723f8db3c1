"""The board in a real JupyterLab: its keys, a reload, a second view, themes, a busy kernel."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from playwright.sync_api import Browser, Locator, expect

from tests.chromium import SECOND
from tests.lab.lab import Lab, NotebookPage, opened

LOAD = """\
%load_ext nbtrain
import nbtrain
"""
SHOW = "%nbtrain scalars logs/{name}"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A logdir of three runs, written once: that takes longer than a test."""
    logdir, noise, t = tmp_path_factory.mktemp("logs"), np.random.default_rng(1), np.arange(3000)
    for n, run in enumerate(["adam", "sgd", "rmsprop"]):
        falling = np.exp(-t / (400 + 300 * n))
        with tf.summary.create_file_writer(str(logdir / run)).as_default():
            for step in t:
                loss = falling[step] + 0.05 * n + noise.normal(0, 0.03)
                tf.summary.scalar("train/loss", loss, step=step)
                tf.summary.scalar("validation/accuracy", 1 - falling[step], step=step)
    with tf.summary.create_file_writer(str(logdir / "adam")).as_default():
        for at, rate in enumerate([1.0, float("nan"), 0.5, 0.25]):
            tf.summary.scalar("rate", rate, step=at)
    return logdir


@pytest.fixture
def page(
    browser: Browser, lab: Lab, written: Path, request: pytest.FixtureRequest
) -> Iterator[NotebookPage]:
    """A page with a board of the logdir in the output of cell 1."""
    name = request.node.name
    shutil.copytree(written, lab.root / "logs" / name)
    cells = request.node.get_closest_marker("cells")
    path = lab.notebook(name, LOAD, SHOW.format(name=name), *(cells.args if cells else ()))
    with opened(browser, lab, path, shared=True) as notebook:
        notebook.run(0)
        notebook.run(1)
        expect(notebook.panel(1).locator(".uplot").first).to_be_visible(timeout=30 * SECOND)
        yield notebook


def chart_of(board: Locator, tag: str) -> Locator:
    """A chart, scrolled into sight: out of it there is nothing drawn."""
    chart = board.locator(f'section[data-tag="{tag}"]')
    chart.scroll_into_view_if_needed()
    expect(chart.locator(".u-over")).to_be_visible()
    return chart


def drag(page: NotebookPage, chart: Locator, begin: float, end: float) -> None:
    """Drag over a part of a chart, from 0 to 1."""
    box = chart.locator(".u-over").bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    page.page.mouse.move(box["x"] + begin * box["width"], y)
    page.page.mouse.down()
    page.page.mouse.move(box["x"] + (begin + end) / 2 * box["width"], y)
    page.page.mouse.move(box["x"] + end * box["width"], y)
    page.page.mouse.up()


def test_the_keyboard_reads_values_and_zooms(page: NotebookPage) -> None:
    loss = chart_of(page.panel(1), "train/loss")
    loss.locator(".nbt-plot").focus()
    page.page.keyboard.press("ArrowRight")
    expect(loss.locator("[data-role=values]")).to_contain_text("step 1,5")
    for _ in range(4):
        page.page.keyboard.press("+")
    expect(loss).to_have_attribute("data-stride", "1")
    page.page.keyboard.press("Escape")
    expect(loss).to_have_attribute("data-stride", "6")


def test_a_reloaded_page_begins_where_the_reader_was(page: NotebookPage) -> None:
    board = page.panel(1)
    loss = chart_of(board, "train/loss")
    loss.locator("[data-act=log]").click()
    board.locator("[data-role=log-x]").check()
    expect(loss.locator("[data-role=left-out]")).to_have_text("3 with no place on the x axis")
    drag(page, loss, 0.5, 0.9)
    expect(loss).to_have_attribute("data-zoomed", "")
    board.locator("[data-run=sgd] input").uncheck()
    board.locator("[data-role=filter-runs]").fill("a|s")
    board.locator("[data-role=smoothing]").fill("0.25")
    board.locator("[data-group=validation] summary").click()
    board.locator("[data-role=filter-tags]").fill("loss|acc")
    points = int(loss.get_attribute("data-points") or 0)
    page.save()
    page.page.reload()
    loss = chart_of(board, "train/loss")
    expect(loss).to_have_attribute("data-zoomed", "")
    expect(loss).to_have_attribute("data-points", str(points))
    expect(loss.locator("[data-act=log]")).to_have_attribute("aria-pressed", "true")
    expect(board.locator("[data-role=log-x]")).to_be_checked()
    expect(board.locator("[data-run=sgd] input")).not_to_be_checked()
    expect(board.locator("[data-role=filter-runs]")).to_have_value("a|s")
    expect(board.locator("[data-role=smoothing]")).to_have_value("0.25")
    expect(board.locator("[data-role=tag-count]")).to_have_text("2 of 3 tags")
    expect(board.locator("[data-group=validation]")).not_to_have_attribute("open", "")
    expect(board.locator("[data-group=train]")).to_have_attribute("open", "")


VIEW = """\
async index => {
  jupyterapp.shell.currentWidget.content.activeCellIndex = index
  await jupyterapp.commands.execute('notebook:create-output-view')
}
"""


def test_a_second_view_begins_like_the_first_and_is_then_its_own(page: NotebookPage) -> None:
    board = page.panel(1)
    board.locator("[data-role=filter-tags]").fill("loss")
    expect(board.locator("[data-role=tag-count]")).to_have_text("1 of 3 tags")
    page.page.evaluate(VIEW, 1)
    second = page.page.locator(".jp-LinkedOutputView .nbt-board")
    expect(second.locator("[data-role=tag-count]")).to_have_text("1 of 3 tags")
    second.locator("[data-role=filter-tags]").fill("")
    expect(second.locator("[data-role=tag-count]")).to_have_text("3 of 3 tags")
    expect(board.locator("[data-role=tag-count]")).to_have_text("1 of 3 tags")


def test_the_board_in_light_and_dark(page: NotebookPage, tmp_path: Path) -> None:
    board = page.panel(1)
    board.locator("[data-role=smoothing]").fill("0.8")
    loss = chart_of(board, "train/loss")
    loss.locator("[data-act=table]").click()
    folder = Path(os.environ.get("NBTRAIN_SCREENSHOTS", tmp_path))
    for theme in ("Light", "Dark"):
        page.theme(f"JupyterLab {theme}")
        expect(board).to_have_attribute("data-theme", theme.lower())
        chart_of(board, "train/loss").locator(".u-over").hover(position={"x": 100, "y": 60})
        expect(loss.locator("[data-role=values]")).to_contain_text("raw")
        lines = loss.locator("tbody line"), board.locator("[data-run=adam] line")
        assert lines[0].first.get_attribute("stroke") == lines[1].get_attribute("stroke")
        board.screenshot(path=folder / f"board-{theme.lower()}.png")


@pytest.mark.cells(
    """\
import threading, time
from nbtrain.panel import board as room

gate, answer = threading.Event(), room.answer
room.answer = lambda *asked: gate.wait() and answer(*asked)
run = nbtrain.train(lambda: time.sleep(0.002) or {"loss": 1.0}, steps=10**6)
""",
    "gate.set()",
    "run.request_stop(); run.wait()",
)
def test_a_board_that_reads_for_long_holds_no_click_of_a_panel_up(page: NotebookPage) -> None:
    page.spoilt = True
    page.run(2)
    board, panel = page.panel(1), page.panel(2)
    board.locator("[data-role=smoothing]").fill("0.5")
    expect(board.locator("[data-role=words]")).to_contain_text("Waiting for the kernel")
    panel.locator("[data-command=pause]").click()
    expect(panel).to_have_attribute("data-phase", "paused", timeout=10 * SECOND)
    page.run(3)
    expect(board.locator("[data-role=words]")).not_to_contain_text("Waiting for the kernel")
    page.run(4)
