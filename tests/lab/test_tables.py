"""HParams, Custom Scalars and Compare in a real JupyterLab."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.chromium import SECOND
from tests.lab.lab import Lab, NotebookPage, opened
from tests.lab.test_board import chart_of

TABS = ("hparams", "custom_scalars", "compare")
WRITE = """\
%load_ext nbtrain
import numpy as np
import tensorflow as tf
import nbtrain
from tensorboard.plugins.hparams import api as hp, api_pb2, summary as hparams_summary
from tensorboard.plugins.custom_scalar import layout_pb2, summary as custom

logdir = "logs/" + NAME
noise = np.random.default_rng(1)
TRIALS = [
    ("adam", 0.001, 64, 0.3),
    ("adam", 0.01, 9, 0.1),
    ("sgd", 0.1, 128, 0.3),
    ("sgd", 0.02, 128, 0.0),
]

def write(run, hparams, rate):
    with tf.summary.create_file_writer(f"{logdir}/{run}").as_default():
        hp.hparams(hparams)
        for step in range(200):
            loss = float(np.exp(-step * rate) + noise.normal(0, 0.01))
            tf.summary.scalar("loss", loss, step=step)
            tf.summary.scalar("loss_low", loss - 0.1, step=step)
            tf.summary.scalar("loss_high", loss + 0.1 + 0.2 / (1 + step), step=step)
            tf.summary.scalar("validation/accuracy", 1 - loss * 0.8, step=step)

names = "optimizer", "learning_rate", "batch_size", "dropout"
for n, values in enumerate(TRIALS):
    told = {**dict(zip(names, values)), "layers": 2, "shuffle": True}
    write(f"trial-{n}", told, 0.01 * (n + 1))

for n, name in ((0, "SUCCESS"), (1, "FAILURE"), (3, "RUNNING")):
    status = getattr(api_pb2, f"STATUS_{name}")
    with tf.summary.create_file_writer(f"{logdir}/trial-{n}").as_default():
        end = hparams_summary.session_end_pb(status)
        tf.summary.experimental.write_raw_pb(end.SerializeToString(), step=0)

chart, multiline = layout_pb2.Chart, layout_pb2.MultilineChartContent
margin = layout_pb2.MarginChartContent
bounds = margin.Series(value="loss", lower="loss_low", upper="loss_high")
lacking = margin.Series(value="loss", lower="no", upper="loss_high")
charts = [
    chart(title="losses", multiline=multiline(tag=[r"loss.*"])),
    chart(title="loss with its bounds", margin=margin(series=[bounds])),
]
wrong = [
    chart(title="wrong", multiline=multiline(tag=["(", "nothing.*", "loss$"])),
    chart(title="lacking", margin=margin(series=[lacking])),
]
category = layout_pb2.Category
categories = category(title="training", chart=charts), category(title="odd ones", chart=wrong)
layout = layout_pb2.Layout(category=categories)
with tf.summary.create_file_writer(f"{logdir}").as_default():
    tf.summary.experimental.write_raw_pb(custom.pb(layout).SerializeToString(), step=0)
"""


@pytest.fixture
def page(browser: Browser, lab: Lab, request: pytest.FixtureRequest) -> Iterator[NotebookPage]:
    """A page with a notebook whose first cell has written a logdir; cell 1 shows its tab."""
    name = request.node.name.partition("[")[0]
    mark = request.node.get_closest_marker("cells")
    show, *others = [cell.format(logdir=f"logs/{name}") for cell in mark.args]
    path = lab.notebook(name, WRITE.replace("NAME", repr(name)), show, *others)
    with opened(browser, lab, path, shared=True) as notebook:
        notebook.run(0)
        notebook.run(1)
        expect(notebook.panel(1).locator(".nbt-front")).to_be_visible(timeout=30 * SECOND)
        yield notebook


def rows(board: Locator) -> list[str]:
    """The names of the table's rows, from above."""
    return board.locator("tbody [data-session]").all_inner_texts()


def count(board: Locator, text: str) -> None:
    expect(board.locator("[data-role=row-count]")).to_have_text(text)


@pytest.mark.cells("%nbtrain hparams {logdir}")
def test_a_heading_sorts_numbers_as_numbers_by_click_and_by_key(page: NotebookPage) -> None:
    board = page.panel(1)
    heading = board.locator("[data-column$=batch_size]")
    expect(heading).to_have_attribute("aria-sort", "none")
    heading.get_by_role("button").click()
    expect(heading).to_have_attribute("aria-sort", "ascending")
    assert rows(board)[:2] == ["trial-1", "trial-0"], "9 is less than 64, and 64 than 128"
    heading.get_by_role("button").press("Enter")
    expect(heading).to_have_attribute("aria-sort", "descending")
    assert rows(board)[2:] == ["trial-0", "trial-1"]
    expect(heading.get_by_role("button")).to_be_focused()
    board.locator(".nbt-sheet").focus()
    page.page.keyboard.press("End")
    page.page.keyboard.press("ArrowRight")
    expect(board.locator(".nbt-sheet")).to_be_focused()
    board.locator("[data-column$='validation/accuracy'] button").click()
    expect(heading).to_have_attribute("aria-sort", "none")
    assert rows(board)[-1] == "trial-0", "of an accuracy the highest come first"


@pytest.mark.cells("%nbtrain hparams {logdir}")
def test_filters_choose_rows_and_checkboxes_are_those_of_the_run_list(page: NotebookPage) -> None:
    board = page.panel(1)
    count(board, "4 of 4 runs")
    expect(board.locator(".nbt-status")).to_have_text(
        ["✓ success", "✗ failure", "– unknown", "● running"]
    )
    board.locator("[data-act=Filters]").click()
    rate = board.locator("[data-filter$=learning_rate]")
    rate.locator("[data-end=from]").fill("1e-2")
    rate.locator("[data-end=to]").fill("0.05")
    count(board, "2 of 4 runs")
    assert rows(board) == ["trial-1", "trial-3"]
    board.locator("[data-filter$=optimizer]").get_by_label("sgd").uncheck()
    count(board, "1 of 4 runs")
    board.get_by_role("button", name="clear all filters").click()
    count(board, "4 of 4 runs")
    rate.locator("[data-end=from]").fill("many")
    expect(rate.locator("[data-end=from]")).to_have_attribute("aria-invalid", "true")
    count(board, "4 of 4 runs")
    board.locator("[data-session=trial-2] input").uncheck()
    expect(board.locator("[data-run=trial-2] input")).not_to_be_checked()
    board.locator("[data-run=trial-2] input").check()
    expect(board.locator("[data-session=trial-2] input")).to_be_checked()
    board.locator("[data-role=filter-runs]").fill("[01]$")
    count(board, "2 of 4 runs")


@pytest.mark.cells("%nbtrain hparams {logdir}")
def test_what_is_shown_of_the_table_is_downloaded(page: NotebookPage) -> None:
    board = page.panel(1)
    board.locator("[data-act=Columns]").click()
    board.locator("[data-role=columns]").get_by_label("layers").uncheck()
    board.locator("[data-role=filter-tags]").fill("optimizer|layers|learning")
    expect(board.locator("[data-role=tag-count]")).to_have_text("2 of 10 columns")
    board.locator("[data-role=filter-runs]").fill("0$")
    with page.page.expect_download() as found:
        board.locator("[data-act=CSV]").click()
    assert found.value.suggested_filename == "hparams.csv"
    assert Path(found.value.path()).read_text().splitlines() == [
        "run,status,learning_rate,optimizer",
        "trial-0,success,0.001,adam",
    ]


@pytest.mark.cells("%nbtrain custom_scalars {logdir}")
def test_a_layouts_charts_show_several_tags_and_bounds_and_what_is_wrong(
    page: NotebookPage,
) -> None:
    board = page.panel(1)
    losses = chart_of(board, "losses")
    expect(losses.locator("[data-role=tags]")).to_have_text("lossloss_highloss_low")
    expect(losses).to_have_attribute("data-points", str(4 * 3 * 200))
    losses.locator(".u-over").hover(position={"x": 100, "y": 60})
    expect(losses.locator("[data-role=values]")).to_contain_text("loss_low · trial-3")
    board.locator("[data-run=trial-3]").hover()
    full = (
        "(root) => root.card.chart.plot.series.slice(1).filter(({ alpha }) => alpha === 1).length"
    )
    assert losses.evaluate(full) == 3, "the lines of the run that is pointed at stand out"
    bounded = chart_of(board, "loss with its bounds")
    expect(bounded).to_have_attribute("data-points", str(4 * 200))
    bounded.locator(".u-over").hover(position={"x": 100, "y": 60})
    expect(bounded.locator("[data-role=values]")).to_contain_text(re.compile(r"\d to 0\.\d"))
    wrong = chart_of(board, "wrong")
    expect(wrong).to_contain_text("'(' is no regular expression")
    expect(wrong).to_contain_text("No run has a tag that 'nothing.*' matches.")
    expect(wrong).to_have_attribute("data-points", str(4 * 200))
    lacking = board.locator("[data-tag=lacking]")
    expect(lacking).to_contain_text("No run has the tag 'no'.")
    board.locator("[data-role=filter-runs]").fill("0$")
    expect(losses).to_have_attribute("data-points", str(3 * 200))
    with page.page.expect_download() as found:
        losses.locator("[data-act=CSV]").click()
    assert Path(found.value.path()).read_text().count("\n") == 1 + 3 * 200


@pytest.mark.cells("nbtrain.compare('{logdir}')")
def test_two_runs_are_compared_side_by_side(page: NotebookPage) -> None:
    board = page.panel(1)
    expect(board).to_have_attribute("data-tab", "compare")
    board.get_by_role("button", name="none").click()
    expect(board.locator("[data-role=compare-words]")).to_contain_text("Check two or more runs")
    for run in ("trial-0", "trial-2"):
        board.locator(f"[data-run={run}] input").check()
    expect(board.locator("[data-baseline]")).to_have_count(2)
    expect(board.locator("[data-hparam]")).to_have_count(3)
    expect(board.locator("[data-hparam=optimizer]")).to_have_text("optimizeradamsgd")
    board.locator("[data-role=same]").check()
    expect(board.locator("[data-hparam=dropout]")).to_have_text("dropout0.30.3")
    board.locator("[data-baseline=trial-0]").press("Enter")
    expect(board.locator("[data-baseline=trial-0]")).to_have_attribute("aria-pressed", "true")
    loss = board.locator("tr[data-tag=loss]")
    expect(loss.locator("small")).to_have_text(re.compile(r"^-0\.1\d+, -\d+ %$"))
    board.locator("[data-role=extent]").check()
    expect(board.locator("tr.nbt-inner")).to_have_count(4 * 3)
    board.locator("[data-role=filter-tags]").fill("accuracy")
    expect(board.locator("tr[data-tag]")).to_have_count(1)
    chart = chart_of(board, "validation/accuracy")
    expect(chart).to_have_attribute("data-points", str(2 * 200))


WICKED = """\
wicked = "<img src=x onerror='window.wicked=1'>"
logdir = "wicked_table"
for run in ("<img src=x onerror=window.wicked=1>", "other"):
    with tf.summary.create_file_writer(f"{{logdir}}/{{run}}").as_default():
        hp.hparams({{wicked: wicked + run, "plain": run}})
        tf.summary.scalar(wicked, 1.0, step=0)
        tf.summary.scalar(wicked, 2.0, step=1)
odd = [chart(title=wicked, multiline=multiline(tag=[".*", wicked + "("]))]
odd_layout = layout_pb2.Layout(category=[category(title=wicked, chart=odd)])
with tf.summary.create_file_writer(logdir).as_default():
    tf.summary.experimental.write_raw_pb(custom.pb(odd_layout).SerializeToString(), step=0)
nbtrain.hparams(logdir)
"""


@pytest.mark.cells(WICKED)
def test_a_hyperparameter_from_a_file_is_text_and_nothing_else(page: NotebookPage) -> None:
    board = page.panel(1)
    expect(board.locator("tbody")).to_contain_text("<img src=x onerror='window.wicked=1'>other")
    for act in ("Filters", "Columns"):
        board.locator(f"[data-act={act}]").click()
    expect(board.locator("[data-role=filters]")).to_contain_text("<img src=x")
    for tab in TABS[1:]:
        board.locator(f"[data-tab={tab}]").click()
        chart = board.locator("section[data-tag]:visible").first
        chart.scroll_into_view_if_needed()
        chart.locator(".u-over").hover(position={"x": 100, "y": 60})
        expect(chart.locator("[data-role=values]")).to_contain_text("<img src=x")
    expect(board.locator("tbody").first).to_contain_text("<img src=x onerror='window.wicked=1'>")
    assert board.locator("img").count() == 0
    assert page.page.evaluate("() => window.wicked === undefined")


@pytest.mark.parametrize("tab", TABS)
@pytest.mark.cells(
    "%nbtrain hparams {logdir}", "%nbtrain custom_scalars {logdir}", "%nbtrain compare {logdir}"
)
def test_the_tabs_in_light_and_dark(page: NotebookPage, tmp_path: Path, tab: str) -> None:
    index = TABS.index(tab) + 1
    if index > 1:
        page.run(index)
    board = page.panel(index)
    expect(board).to_have_attribute("data-tab", tab)
    if tab == "hparams":
        board.locator("[data-column$=learning_rate] button").click()
    elif tab == "compare":
        board.locator("[data-baseline=trial-0]").click()
    folder = Path(os.environ.get("NBTRAIN_SCREENSHOTS", tmp_path))
    for theme in ("Light", "Dark"):
        page.theme(f"JupyterLab {theme}")
        expect(board).to_have_attribute("data-theme", theme.lower())
        expect(page.page.locator("#jupyterlab-splash")).to_have_count(0)
        for chart in board.locator("section[data-tag]:not([data-tag=lacking])").all():
            chart.scroll_into_view_if_needed()
            expect(chart.locator(".u-over")).to_be_visible()
        board.locator(".nbt-front").evaluate("(front) => front.scrollTo(0, 0)")
        board.screenshot(path=folder / f"{tab}-{theme.lower()}.png")
