"""The panel in a real JupyterLab: clicks while a cell runs, reloads, views, what stays of it."""

from __future__ import annotations

import ast
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.chromium import SECOND
from tests.lab.lab import Lab, NotebookPage, opened
from tests.lab.steps import wait_for_step
from tests.page.bare import click, in_text, phase, receipt, see_curve, silent, step_of
from tests.page.panel.asked import ask
from tests.page.panel.fields import field, slider

START = """\
%load_ext nbtrain
import os, time
import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
import nbtrain

keras.utils.set_random_seed(1)
images, labels = load_digits(return_X_y=True)
images = (images / 16).astype("float32")
layers = [keras.Input((64,)), keras.layers.Dense(32, "relu"), keras.layers.Dense(10)]
model = keras.Sequential(layers)
optimizer = keras.optimizers.Adam(1e-3)
cross_entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
data = iter(tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(1797).repeat().batch(32))


@tf.function
def update(x, y):
    with tf.GradientTape() as tape:
        logits = model(x)
        loss = cross_entropy(y, logits)
    weights = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    right = tf.argmax(logits, 1) == tf.cast(y, tf.int64)
    return {"loss": loss, "accuracy": tf.reduce_mean(tf.cast(right, tf.float32))}


def step():
    time.sleep(0.002)  # at a pace that a person can follow
    return update(*next(data))


print("ready")
"""
TRAIN = """\
dropout = tf.Variable(0.25)
run = nbtrain.train(step, steps=100_000, name={name!r},
                    checkpoint=tf.train.Checkpoint(model=model, optimizer=optimizer),
                    hyperparameters={{"learning_rate": optimizer.learning_rate,
                                      "dropout": dropout}})
"""
RECEIPTS = "[(r.name, r.outcome.applied, r.outcome.step) for r in run.receipts]"


def read(page: NotebookPage, index: int) -> Any:
    """Run a cell and read its value."""
    page.run(index)
    return ast.literal_eval(re.sub(r"^\[\d+\]:\s*", "", page.text(index)))


@pytest.fixture
def page(browser: Browser, lab: Lab, request: pytest.FixtureRequest) -> Iterator[NotebookPage]:
    """A page with a started run: cell 0 sets up, cell 1 trains, the others come from the test."""
    name = "digits" if "light" in request.node.name else request.node.name
    cells = request.node.get_closest_marker("cells")
    path = lab.notebook(name, START, TRAIN.format(name=name), *(cells.args if cells else ()))
    with opened(browser, lab, path) as notebook:
        notebook.run(0)
        notebook.run(1)
        phase(notebook.panel(1), "running")
        yield notebook


# A cell that draws figures, and goes on when it is told to.
BUSY = """\
import matplotlib.pyplot as plt
for n in range(3):
    plt.figure(); plt.plot([0, n])
    while not os.path.exists(f"go-on-{n}"):
        time.sleep(0.02)
"""


@pytest.mark.cells(BUSY, RECEIPTS)
def test_every_button_works_while_another_cell_draws_and_leaves_its_figures_alone(
    page: NotebookPage, lab: Lab
) -> None:
    def go_on(count: int) -> None:
        (lab.root / f"go-on-{count}").touch()

    panel = page.panel(1)
    page.run(2, wait=False)
    click(panel, "save")
    saved = in_text(receipt(panel, "saved ckpt-"))
    go_on(0)
    click(panel, "pause")
    paused = in_text(receipt(panel, "paused"))
    phase(panel, "paused")
    go_on(1)
    click(panel, "restore")
    text = receipt(panel, f"restored ckpt-{saved}")
    assert "variables matched" in text
    assert "8 optimizer slots" in text
    assert in_text(text) == paused
    assert step_of(panel) == saved
    click(panel, "resume")
    receipt(panel, "running again")
    wait_for_step(page, 1, paused + 1)
    expect(page.cells.nth(2).locator(".jp-InputPrompt")).to_have_text("[*]:")
    go_on(2)
    page.wait_done(2)
    expect(page.cells.nth(2).locator(".jp-RenderedImage img")).to_have_count(3)
    click(panel, "stop")
    phase(panel, "stopped")
    expect(panel.locator("[data-command]:enabled:visible")).to_have_count(0)
    see_curve(panel)
    done = [(name, applied) for name, applied, _ in read(page, 3)]
    assert done == [(name, True) for name in ("save", "pause", "restore", "resume", "stop")]


@pytest.mark.cells("run.on('stopped', print)", "run.status.phase.value")
def test_prints_of_a_listener_appear_under_its_cell(page: NotebookPage) -> None:
    page.run(2)
    page.run(3)  # the last cell that has run is another
    click(page.panel(1), "stop")
    expect(page.cells.nth(2).locator(".jp-OutputArea").first).to_contain_text(
        re.compile(r"step \d+  stopped")
    )


def see_whole_curve(panel: Locator) -> None:
    """See that it is drawn in colour from where the run began, with the mark of a save."""
    see_curve(panel)
    chart = panel.locator("[data-tag=loss]")
    expect(chart).to_have_attribute("data-timeline", "1")
    chart.locator(".u-over").hover(position={"x": 2, "y": 60})
    first = chart.locator("[data-role=legend]").inner_text()
    begun = int(first.split()[1].replace(",", ""))  # after "step"
    assert begun <= 10 + step_of(panel) / 50, first  # at the left end of the chart


@pytest.mark.cells("run", "%nbtrain show")
def test_every_view_shows_the_whole_curve_also_on_a_reloaded_page(page: NotebookPage) -> None:
    wait_for_step(page, 1, 100)
    click(page.panel(1), "save")
    receipt(page.panel(1), "saved")
    page.run(2)
    page.run(3)
    page.save()
    for _ in range(2):
        for index in (1, 2, 3):
            panel = page.panel(index)
            phase(panel, "running")
            wait_for_step(page, index, 150)
            see_whole_curve(panel)
            wait_for_step(page, index, step_of(panel) + 50)
        page.reload()
        expect(page.panel(3)).to_be_visible(timeout=60 * SECOND)


def test_the_keyboard_pauses_resumes_and_moves_a_slider(page: NotebookPage) -> None:
    panel, keyboard = page.panel(1), page.page.keyboard
    panel.locator("[data-command=pause]").focus()
    keyboard.press("Enter")
    phase(panel, "paused")
    slider(panel, "dropout").focus()
    keyboard.press("ArrowRight")
    receipt(panel, "✓ dropout 0.25 → 0.26")
    expect(slider(panel, "dropout")).to_be_focused()
    keyboard.press("End")
    receipt(panel, "✓ dropout 0.26 → 0.99")
    expect(slider(panel, "dropout")).to_be_focused()
    panel.locator("[data-command=resume]").focus()
    keyboard.press("Space")
    phase(panel, "running")


@pytest.mark.cells("os.getpid()")
def test_a_killed_kernel_is_told_and_its_run_goes_on_from_the_checkpoint(
    page: NotebookPage,
) -> None:
    panel = page.panel(1)
    wait_for_step(page, 1, 50)
    click(panel, "save")
    saved = in_text(receipt(panel, "saved ckpt-"))
    wait_for_step(page, 1, saved + 50)
    os.kill(read(page, 2), signal.SIGKILL)
    page.page.locator(".jp-Dialog").get_by_role("button", name="Ok").click()
    silent(panel)
    page.wait_idle()
    page.run(0)
    page.run(1)
    again = page.panel(1)
    phase(again, "running")
    expect(again).to_contain_text(f"Continues from ckpt-{saved}")
    assert step_of(again) >= saved
    see_earlier_life(again.locator("[data-tag=loss]"), saved)


def see_earlier_life(chart: Locator, saved: int) -> None:
    """Its curve begins where the run began, and the mark of its save is there."""
    expect(chart).to_have_attribute("data-timeline", "2")  # the save, and that it goes on
    over, legend = chart.locator(".u-over"), chart.locator("[data-role=legend]")
    over.hover(position={"x": 2, "y": 60})
    expect(legend).to_have_text(re.compile(r"step \d+\s+\d"))
    told = re.match(r"step (\d+)", legend.inner_text())
    assert told is not None
    assert int(told[1]) < saved / 2
    box = over.bounding_box()  # it may become narrower: the run goes on, and its numbers longer
    assert box is not None
    chart.page.mouse.move(box["x"] + box["width"] - 9, box["y"] + 60)
    expect(legend).not_to_contain_text("abandoned")


def test_a_restarted_kernel_is_told_in_the_panel_of_its_run(page: NotebookPage) -> None:
    wait_for_step(page, 1, 50)
    page.page.evaluate("() => void jupyterapp.commands.execute('kernelmenu:restart')")
    page.page.locator(".jp-Dialog").get_by_role("button", name="Confirm Kernel Restart").click()
    silent(page.panel(1))


def test_the_panel_and_its_marks_in_light_and_dark(page: NotebookPage, tmp_path: Path) -> None:
    """Takes the pictures of the README; `make screenshots` keeps them."""
    folder = Path(os.environ.get("NBTRAIN_SCREENSHOTS", tmp_path))
    panel = page.panel(1)
    wait_for_step(page, 1, 400)
    click(panel, "save")
    receipt(panel, "saved")
    rate = field(panel, "learning_rate")
    rate.fill("0.3")  # too much: the curve leaves its way, and is brought back to it
    rate.press("Enter")
    edited = int(re.findall(r"\d+", receipt(panel, "✓ learning_rate").replace(",", ""))[-1])
    wait_for_step(page, 1, edited + 120)
    click(panel, "restore")
    receipt(panel, "restored")
    wait_for_step(page, 1, 1200)
    for theme in ("light", "dark"):
        page.theme(f"JupyterLab {theme.title()}")
        expect(panel).to_have_attribute("data-theme", theme)
        panel.locator("[data-tag=loss] .u-over").hover(position={"x": 330, "y": 90})
        panel.screenshot(path=folder / f"panel-{theme}.png", animations="disabled")
        assert (folder / f"panel-{theme}.png").stat().st_size > 10_000
    click(panel, "pause")
    phase(panel, "paused")
    for theme in ("dark", "light"):
        page.theme(f"JupyterLab {theme.title()}")
        expect(panel).to_have_attribute("data-theme", theme)
        ask(panel, "◆ set")
        page.page.screenshot(path=folder / f"marks-{theme}.png", animations="disabled")
        page.page.keyboard.press("Escape")
        assert (folder / f"marks-{theme}.png").stat().st_size > 10_000
