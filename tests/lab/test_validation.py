"""The chart of a Keras fit in the themes of a real JupyterLab."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.lab.lab import Lab, NotebookPage, opened
from tests.page.bare import click, phase, receipt
from tests.page.panel.validations import colours, wait_for_epochs

FIT = """\
import keras
from sklearn.datasets import load_digits
import nbtrain

keras.utils.set_random_seed(1)
images, labels = load_digits(return_X_y=True)
images = (images / 16).astype("float32")
layers = [keras.Input((64,)), keras.layers.Dense(32, "relu"), keras.layers.Dense(10, "softmax")]
model = keras.Sequential(layers)
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
run = nbtrain.fit(model, images[:1300], labels[:1300], epochs=1_000, batch_size=32,
                  validation_data=(images[1300:], labels[1300:]), name={name!r})
"""


@pytest.fixture
def page(browser: Browser, lab: Lab, request: pytest.FixtureRequest) -> Iterator[NotebookPage]:
    """A page with a Keras fit that has come to its third epoch."""
    name = re.sub(r"\W", "-", request.node.name)
    path = lab.notebook(name, FIT.format(name=name))
    with opened(browser, lab, path) as notebook:
        notebook.run(0)
        phase(notebook.panel(0), "running")
        wait_for_epochs(notebook.panel(0), 15)
        yield notebook


def test_the_points_of_a_validation_outlast_a_change_of_theme(page: NotebookPage) -> None:
    panel = page.panel(0)
    click(panel, "pause")
    receipt(panel, "paused")
    click(panel, "save")
    receipt(panel, "saved")  # the last points before the pause came before it
    before = colours(panel, "epoch_loss")
    for theme in ("dark", "light"):
        page.theme(f"JupyterLab {theme.title()}")
        expect(panel).to_have_attribute("data-theme", theme)
        expect(page.page.locator("#jupyterlab-splash")).to_have_count(0)
    assert colours(panel, "epoch_loss") == before
