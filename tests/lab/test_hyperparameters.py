"""Hyperparameters in a real JupyterLab, which has its own meaning for keys."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.lab.lab import Lab, NotebookPage, opened
from tests.lab.test_panel import START, read
from tests.page.bare import click, phase, receipt
from tests.page.test_hyperparameters import slider

TRAIN = """\
dropout = tf.Variable(0.25)
run = nbtrain.train(step, steps=100_000, name={name!r},
                    checkpoint=tf.train.Checkpoint(model=model, optimizer=optimizer),
                    hyperparameters={{"learning_rate": optimizer.learning_rate,
                                      "dropout": dropout}})
"""
VALUES = "(float(str(optimizer.learning_rate.numpy())), float(dropout.numpy()))"


@pytest.fixture
def page(browser: Browser, lab: Lab, request: pytest.FixtureRequest) -> Iterator[NotebookPage]:
    """A page with a running training that has two hyperparameters."""
    name = request.node.name
    cells = request.node.get_closest_marker("cells")
    path = lab.notebook(name, START, TRAIN.format(name=name), *(cells.args if cells else ()))
    with opened(browser, lab, path) as notebook:
        notebook.run(0)
        notebook.run(1)
        phase(notebook.panel(1), "running")
        yield notebook


@pytest.mark.cells(VALUES)
def test_the_arrow_keys_move_a_slider_also_while_paused(page: NotebookPage) -> None:
    panel = page.panel(1)
    click(panel, "pause")
    phase(panel, "paused")
    slider(panel, "dropout").focus()
    page.page.keyboard.press("ArrowRight")
    receipt(panel, "✓ dropout 0.25 → 0.26")
    expect(slider(panel, "dropout")).to_have_attribute("aria-valuetext", "0.26")
    expect(slider(panel, "dropout")).to_be_focused()
    page.page.keyboard.press("End")
    receipt(panel, "✓ dropout 0.26 → 0.99")
    expect(slider(panel, "dropout")).to_be_focused()
    assert read(page, 2)[0] == 0.001
