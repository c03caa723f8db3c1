"""The layers of a step, looked at in a notebook by a click."""

from __future__ import annotations

import os

from playwright.sync_api import Browser, expect

from tests.lab.lab import Lab, opened
from tests.page.bare import phase

CELLS = (
    """\
import keras
import nbtrain
from sklearn.datasets import load_digits
%load_ext nbtrain
images, labels = load_digits(return_X_y=True)
""",
    """\
low = keras.initializers.Constant(-1000.0)
model = keras.Sequential([
    keras.Input((64,)),
    keras.layers.Dense(32, "relu", name="first"),
    keras.layers.Dense(32, "relu", bias_initializer=low, name="second"),
    keras.layers.Dense(10, "softmax", name="out"),
])
model.compile("adam", "sparse_categorical_crossentropy")
run = nbtrain.fit(model, images, labels, epochs=10_000, name="inside")
""",
)


def test_a_click_names_the_layer_that_stands_out_and_shows_all_as_a_table(
    browser: Browser, lab: Lab
) -> None:
    path = lab.notebook("look-inside", *CELLS)
    with opened(browser, lab, path) as page:
        for cell in range(len(CELLS)):
            page.run(cell)
        panel = page.panel(1)
        phase(panel, "running")
        panel.get_by_role("button", name="Look inside").click()
        expect(panel.locator("[data-role=receipt]")).to_contain_text(
            "100% of the units of second are 0 in all 32 rows: dead ReLUs"
        )
        panel.get_by_text("Pictures and media").click()
        rows = panel.locator(".nbt-markdown table tr")
        expect(rows).to_have_count(4)
        expect(rows.nth(1)).to_contain_text("second")
        expect(rows.nth(2)).to_contain_text("first")
        if where := os.environ.get("NBTRAIN_SCREENSHOTS"):
            panel.screenshot(path=f"{where}/look_inside.png")
        panel.get_by_role("button", name="Stop", exact=True).click()
        phase(panel, "stopped")
