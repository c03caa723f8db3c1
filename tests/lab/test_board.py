"""The board in a real JupyterLab: a logdir in the cell, zoomed, filtered, smoothed."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from playwright.sync_api import Browser, Locator, expect

from tests.chromium import SECOND
from tests.lab.lab import Lab, NotebookPage, opened

WRITE = """\
%load_ext nbtrain
import tensorflow as tf
import numpy as np
import nbtrain

def write(run, values, tag="train/loss", start=0):
    with tf.summary.create_file_writer(f"{logdir}/{run}").as_default():
        for step, value in enumerate(values, start):
            tf.summary.scalar(tag, value, step=step)

logdir = "logs/" + NAME
"""
SHOW = "%nbtrain scalars logs/{name}"
WICKED = "<img src=x onerror='window.wicked=1'>"


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
    """A page with a board of the logdir in the output of cell 1; cell 0 can write more."""
    name = request.node.name
    shutil.copytree(written, lab.root / "logs" / name)
    cells = request.node.get_closest_marker("cells")
    write = WRITE.replace("NAME", repr(name))
    path = lab.notebook(name, write, SHOW.format(name=name), *(cells.args if cells else ()))
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


def test_a_zoom_shows_finer_points_and_a_double_click_everything(page: NotebookPage) -> None:
    loss = chart_of(page.panel(1), "train/loss")
    expect(loss).to_have_attribute("data-stride", "6")
    drag(page, loss, 0.5, 0.55)
    expect(loss).to_have_attribute("data-stride", "1")
    loss.locator(".u-over").hover(position={"x": 100, "y": 60})
    told = loss.locator("[data-role=values]")
    expect(told).to_contain_text(re.compile(r"step 1,[56]\d\d"))
    for run in ("adam", "sgd", "rmsprop"):
        expect(told).to_contain_text(run)
    loss.locator(".u-over").dblclick()
    expect(loss).to_have_attribute("data-stride", "6")


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


def test_filters_and_checkboxes_choose_tags_and_runs(page: NotebookPage) -> None:
    board = page.panel(1)
    tags = board.locator("[data-role=filter-tags]")
    expect(board.locator("[data-group]")).to_have_count(3)
    tags.fill("acc.*y$")
    expect(board.locator("section[data-tag]")).to_have_count(1)
    expect(board.locator("[data-role=tag-count]")).to_have_text("1 of 3 tags")
    tags.fill("(")
    expect(tags).to_have_attribute("aria-invalid", "true")
    expect(board.locator("section[data-tag]")).to_have_count(3)
    tags.fill("loss")
    loss = chart_of(board, "train/loss")
    loss.locator("[data-act=table]").click()
    rows = loss.locator("tbody tr")
    expect(rows).to_have_count(3)
    board.locator("[data-run=sgd] input").uncheck()
    expect(rows).to_have_count(2)
    board.locator("[data-role=filter-runs]").fill("^adam$")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("adam")
    expect(rows.locator("[title]")).to_have_attribute("title", "adam: 3,000 points")


def test_smoothing_leaves_the_raw_line_behind(page: NotebookPage) -> None:
    loss = chart_of(page.panel(1), "train/loss")
    page.panel(1).locator("[data-role=smoothing]").fill("0.9")
    loss.locator(".u-over").hover(position={"x": 100, "y": 60})
    expect(loss.locator("[data-role=values]")).to_contain_text("raw")


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


def test_a_logarithmic_axis_shows_the_first_steps_apart(page: NotebookPage) -> None:
    board = page.panel(1)
    loss = chart_of(board, "train/loss")
    board.locator("[data-role=log-x]").check()
    expect(loss.locator("[data-role=left-out]")).to_have_text("3 with no place on the x axis")
    told = loss.locator("[data-role=values]")
    loss.locator(".u-over").hover(position={"x": 2, "y": 60})
    expect(told).to_contain_text("step 1")
    drag(page, loss, 0.5, 0.6)
    expect(loss).to_have_attribute("data-stride", "1")
    board.locator("[data-role=axis]").select_option("relative")
    expect(loss).not_to_have_attribute("data-zoomed", "")
    board.locator("[data-role=axis]").select_option("wall")
    expect(board.locator("[data-role=log-x]")).to_be_disabled()
    expect(loss.locator("[data-role=left-out]")).to_be_empty()


GROW = """\
write("later", np.linspace(1, 0, 50))
write("adam", [0.125], "rate", 4)
"""


@pytest.mark.cells(GROW)
def test_what_is_written_comes_into_sight_when_followed(page: NotebookPage) -> None:
    board = page.panel(1)
    board.locator("[data-role=follow]").check()
    page.run(2)
    expect(board.locator("[data-run=later]")).to_be_visible(timeout=20 * SECOND)
    loss = chart_of(board, "train/loss")
    loss.locator("[data-act=table]").click()
    expect(loss.locator("tbody tr")).to_have_count(4)


NAMES = f"""\
logdir = "wicked"
write("<img src=x onerror=window.wicked=1>", [1.0, 2.0, 3.0], "{WICKED}/{WICKED}")
"""


@pytest.mark.cells(NAMES, "nbtrain.scalars('wicked')")
def test_a_name_from_a_file_is_text_and_nothing_else(page: NotebookPage) -> None:
    page.run(2)
    page.run(3)
    board = page.panel(3)
    over = board.locator(".u-over")
    expect(over).to_have_count(1, timeout=30 * SECOND)
    board.locator("[data-act=table]").click()
    over.hover(position={"x": 100, "y": 60})
    expect(board.locator("[data-role=values]")).to_contain_text("<img src=x")
    expect(board.locator("[data-role=table]")).to_contain_text("<img src=x")
    assert board.locator("img").count() == 0
    assert page.page.evaluate("() => window.wicked === undefined")


ODD = """\
import os
from nbtrain.events.writer import EventWriter
from pathlib import Path
Path("odd/run").mkdir(parents=True)
writer, three = EventWriter(Path("odd/run")), np.arange(3)
tags = ["x" * 10_000, "\\u202eoverridden\\nline", ""]
writer.scalars(three, three + 1.7e9, {tag: np.array([1.0, 3.0, 2.0]) for tag in tags})
writer.close()
os.rename("odd/run", os.fsdecode(b"odd/caf\\xe9"))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="names are text on this system")
@pytest.mark.cells(ODD, "nbtrain.scalars('odd')")
def test_odd_names_are_drawn_and_downloaded(page: NotebookPage, tmp_path: Path) -> None:
    page.run(2)
    page.run(3)
    board = page.panel(3)
    charts = board.locator("section[data-tag]")
    expect(charts).to_have_count(3, timeout=30 * SECOND)
    for chart in charts.all():
        chart.scroll_into_view_if_needed()
        expect(chart.locator(".u-over")).to_be_visible()
    expect(board.locator(".nbt-run")).to_contain_text(r"caf\xe9")
    long = board.locator("section[data-tag^=xxx]")
    for act, ending in (("CSV", ".csv"), ("PNG", ".png")):
        with page.page.expect_download() as found:
            long.locator(f"[data-act={act}]").click()
        assert found.value.suggested_filename == "x" * 80 + ending
    with page.page.expect_download() as found:
        board.locator('section[data-tag=""] [data-act=CSV]').click()
    assert found.value.suggested_filename == "untitled.csv"
    assert rb"caf\xe9,,0," in Path(found.value.path()).read_bytes()
    assert board.evaluate("root => root.scrollWidth <= root.clientWidth")
    board.screenshot(path=Path(os.environ.get("NBTRAIN_SCREENSHOTS", tmp_path)) / "odd.png")


MANY = """\
from nbtrain.events.writer import EventWriter
from pathlib import Path
one = np.array([0])
for folder, tags in (("many/one", [f"tag{n}" for n in range(10_000)]),
                     ("groups/one", [f"{n}/tag" for n in range(10_000)])):
    Path(folder).mkdir(parents=True)
    writer = EventWriter(Path(folder))
    writer.scalars(one, one + 1.7e9, {tag: np.array([0.5]) for tag in tags})
    writer.close()
"""


@pytest.mark.cells(MANY, "nbtrain.scalars('many')", "nbtrain.scalars('groups')")
def test_ten_thousand_tags_are_found_by_a_filter_whatever_their_groups(page: NotebookPage) -> None:
    page.run(2)
    for cell, more in ((3, "9940 more"), (4, "9940 more groups")):
        page.run(cell)
        board = page.panel(cell)
        expect(board.locator("[data-role=tag-count]")).to_have_text("10000 of 10000 tags")
        expect(board.get_by_text(more, exact=True)).to_be_visible()
        assert board.locator("*").count() < 3000, "what is not shown is not in the page"
        board.locator("[data-role=filter-tags]").fill("9876")
        expect(board.locator("section[data-tag]")).to_have_count(1)
        expect(board.locator(".u-over")).to_be_visible()


@pytest.mark.cells("import os; os._exit(1)")
def test_a_kernel_that_has_gone_leaves_what_was_drawn(page: NotebookPage) -> None:
    page.spoilt = True
    board = page.panel(1)
    page.run(2, wait=False)
    page.page.locator(".jp-Dialog").get_by_role("button", name="Ok").click()
    board.locator("[data-role=smoothing]").fill("0.5")
    expect(board.locator("[data-role=words]")).to_contain_text("The kernel has gone")
    chart_of(board, "train/loss")


@pytest.mark.parametrize(("act", "ending"), [("CSV", ".csv"), ("PNG", ".png")])
def test_a_chart_is_downloaded(page: NotebookPage, act: str, ending: str) -> None:
    loss = chart_of(page.panel(1), "train/loss")
    with page.page.expect_download() as found:
        loss.locator(f"[data-act={act}]").click()
    assert found.value.suggested_filename == f"train_loss{ending}"
    data = Path(found.value.path()).read_bytes()
    assert data[:4] == b"\x89PNG" if act == "PNG" else data.count(b"\n") == 9001


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


EDITED = """\
tag = "hyperparameters/learning_rate"
for start, values in ((0, [0.01]), (50, [0.01]), (50, [0.001]), (100, [0.001])):
    write("adam", values, tag, start)
"""
# In the middle of the first half: how far down a chart, as a part of it, its coloured points are.
MIDDLE = """\
over => {
  const chart = over.closest(".uplot"), canvas = chart.querySelector("canvas");
  const scale = canvas.width / canvas.getBoundingClientRect().width;
  const [box, own] = [over.getBoundingClientRect(), canvas.getBoundingClientRect()];
  const [left, top] = [(box.left - own.left + box.width / 4) * scale, (box.top - own.top) * scale];
  const { data } = canvas.getContext("2d").getImageData(left, top, 1, box.height * scale);
  const found = [];
  for (let y = 0; 4 * y < data.length; y++) {
    const [r, g, b, alpha] = data.slice(4 * y, 4 * y + 4);
    const coloured = alpha > 200 && Math.max(r, g, b) - Math.min(r, g, b) > 60;
    if (coloured) found.push(y / (box.height * scale));
  }
  return [Math.min(...found), Math.max(...found)];
}"""


@pytest.mark.cells(EDITED)
def test_an_edit_of_a_hyperparameter_is_a_step_and_no_ramp(page: NotebookPage) -> None:
    page.run(2)
    page.run(1)
    chart = chart_of(page.panel(1), "hyperparameters/learning_rate")
    expect(chart).to_have_attribute("data-stride", "1")
    highest, lowest = chart.locator(".u-over").evaluate(MIDDLE)
    assert highest < 0.3
    assert lowest < 0.3, "the value of before, until the edit"


WILD = """\
low, high = np.linspace(1, 0, 120), [1e10] * 40
for start, values in ((0, low[:60]), (60, high), (60, low[60:])):
    write("adam", values, "wild/loss", start)
"""


@pytest.mark.cells(WILD)
def test_an_abandoned_tail_does_not_set_the_scale(page: NotebookPage) -> None:
    page.run(2)
    page.run(1)
    chart = chart_of(page.panel(1), "wild/loss")
    expect(chart).to_have_attribute("data-stride", "1")
    _, lowest = chart.locator(".u-over").evaluate(MIDDLE)
    assert lowest < 0.9, "the curve falls from 1 to 0, and is not flat below 1e10"
