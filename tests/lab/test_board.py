"""The board in a real JupyterLab: its keys, a reload, a second view, themes, a busy kernel."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.lab.lab import Lab, NotebookPage, opened
from tests.logdirs import write_cards, write_curves, write_tables
from tests.page.board.boards import chart_of, drag, turn_to

LOAD = """\
%load_ext nbtrain
import nbtrain
"""
SHOW = "%nbtrain scalars logs/{name}"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A logdir of three runs."""
    logdir = tmp_path_factory.mktemp("logs")
    write_curves(logdir)
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
        expect(notebook.panel(1).locator(".uplot").first).to_be_visible()
        yield notebook


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
    expect(loss.locator("[data-role=left-out]")).to_have_text("3 not on this x axis")
    drag(loss, 0.5, 0.9)
    expect(loss).to_have_attribute("data-zoomed", "")
    board.locator("[data-run=sgd] input").uncheck()
    board.locator("[data-role=filter-runs]").fill("a|s")
    board.locator("[data-role=smoothing]").fill("0.25")
    board.locator("[data-group=validation] summary").click()
    board.locator("[data-role=filter-tags]").fill("loss|acc")
    # It is drawn without the run.
    expect(loss.locator("[data-role=left-out]")).to_have_text("2 not on this x axis")
    points = int(loss.get_attribute("data-points") or 0)
    page.save()
    page.reload()
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


def see_scalars(board: Locator, path: Path) -> None:
    """Take a picture of curves, one pointed at, and of the table below them."""
    for tag in ("rate", "train/loss"):
        chart_of(board, tag).scroll_into_view_if_needed()
        expect(chart_of(board, tag).locator(".uplot")).to_be_visible()
    loss = chart_of(board, "train/loss")
    loss.locator(".u-over").hover(position={"x": 100, "y": 60})
    expect(loss.locator("[data-role=values]")).to_contain_text("raw")
    lines = loss.locator("tbody line"), board.locator("[data-run=adam] line")
    assert lines[0].first.get_attribute("stroke") == lines[1].get_attribute("stroke")
    board.screenshot(path=path)


def see_cards(board: Locator, theme: str, folder: Path) -> None:
    """Take pictures of the tabs."""
    for tab, sign in (("Images", "img"), ("Histograms", ".uplot"), ("Text", "h1")):
        turn_to(board, tab)
        expect(board.locator(f".nbt-card {sign}").first).to_be_visible()
        path = folder / f"{tab.lower()}-{theme}.png"
        board.screenshot(path=path, animations="disabled")
        assert path.stat().st_size > 10_000


def see_table(board: Locator, path: Path) -> None:
    """Take a picture of a page of tables, once all of its charts were drawn."""
    for chart in board.locator("section[data-tag]:not([data-tag=lacking])").all():
        chart.scroll_into_view_if_needed()
        expect(chart.locator(".u-over")).to_be_visible()
    board.screenshot(path=path)


TABLES = ("hparams", "custom_scalars", "compare")


@pytest.mark.cells(
    "%nbtrain images logs/cards", *(f"%nbtrain {name} logs/tables" for name in TABLES)
)
def test_the_boards_in_light_and_dark(page: NotebookPage, lab: Lab, tmp_path: Path) -> None:
    """Takes pictures of every tab; `make screenshots` keeps them."""
    folder = Path(os.environ.get("NBTRAIN_SCREENSHOTS", tmp_path))
    write_cards(lab.root / "logs" / "cards", range(20))
    write_tables(lab.root / "logs" / "tables")
    for cell in range(2, 6):
        page.run(cell)
        expect(page.panel(cell).locator(".nbt-front")).to_be_visible()
    boards = [page.panel(cell) for cell in range(1, 6)]
    boards[0].locator("[data-role=smoothing]").fill("0.8")
    chart_of(boards[0], "train/loss").locator("[data-act=table]").click()
    boards[2].locator("[data-column$=learning_rate] button").click()
    boards[4].locator("[data-role=baseline]").select_option("trial-0")
    for theme in ("light", "dark"):
        page.theme(f"JupyterLab {theme.title()}")
        for board in boards:
            expect(board).to_have_attribute("data-theme", theme)
        expect(page.page.locator("#jupyterlab-splash")).to_have_count(0)
        see_scalars(boards[0], folder / f"board-{theme}.png")
        see_cards(boards[1], theme, folder)
        for name, board in zip(TABLES, boards[2:], strict=True):
            expect(board).to_have_attribute("data-tab", name)
            see_table(board, folder / f"{name}-{theme}.png")


@pytest.mark.cells(
    """\
import threading, time
from nbtrain.panel.board import board as room

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
    expect(panel).to_have_attribute("data-phase", "paused")
    page.run(3)
    expect(board.locator("[data-role=words]")).not_to_contain_text("Waiting for the kernel")
    page.run(4)
