"""The time of a step, measured in a notebook by a click."""

from __future__ import annotations

import os
import re

from playwright.sync_api import Browser, expect

from tests.lab.lab import Lab, opened
from tests.page.bare import phase

CELLS = (
    """\
import time
import nbtrain, numpy as np, tensorflow as tf
%load_ext nbtrain
weight = tf.Variable(1.0)
""",
    """\
def load(number):
    return tf.numpy_function(lambda _: time.sleep(0.05) or np.float32(1), [number], tf.float32)

data = (
    tf.data.Dataset.range(10_000)
    .map(load)
    .prefetch(2)
)
""",
    """\
@tf.function
def train_step(number):
    return {"loss": weight.assign_add(number * 1e-3)}

checkpoint = tf.train.Checkpoint(weight=weight)
run = nbtrain.train(train_step, data=data, checkpoint=checkpoint, name="measure")
""",
)


def test_a_click_says_what_holds_the_training_back_and_the_line_to_change(
    browser: Browser, lab: Lab
) -> None:
    path = lab.notebook("measure", *CELLS)
    with opened(browser, lab, path) as page:
        for cell in range(len(CELLS)):
            page.run(cell)
        panel = page.panel(2)
        phase(panel, "running")
        panel.get_by_role("button", name="Measure").click()
        receipt = panel.locator("[data-role=receipt]")
        expect(receipt).to_contain_text(re.compile("✓ input .* ms, step .*, together .* ms: "))
        expect(receipt).to_contain_text(
            "map(load) calls Python, where one call waits for the other (cell 2, line 6)"
        )
        phase(panel, "running")
        if where := os.environ.get("NBTRAIN_SCREENSHOTS"):
            panel.screenshot(path=f"{where}/measure.png")
        panel.get_by_role("button", name="Stop", exact=True).click()
        phase(panel, "stopped")
