"""HParams, Custom Scalars and Compare in the themes of a real JupyterLab."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.chromium import SECOND
from tests.lab.lab import Lab, NotebookPage, opened

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
