"""A scalar and its validation share a chart, in a real Keras fit."""

from __future__ import annotations

import os
import re
from pathlib import Path

import keras
import numpy as np
import pytest
from playwright.sync_api import Locator, expect

import nbtrain
from nbtrain.core.commands import Pause
from tests.page.bare import BarePage, click, phase, receipt, step_of
from tests.page.panel.validations import EPOCH, chart, colours, wait_for_epochs


def made() -> nbtrain.Run:
    """A Keras fit that has not been started."""
    keras.utils.set_random_seed(1)
    x = np.random.default_rng(1).normal(size=(192, 8)).astype("float32")
    y = x[:, :3].argmax(1)
    layers = [keras.Input((8,)), keras.layers.Dense(8, "relu"), keras.layers.Dense(3, "softmax")]
    model = keras.Sequential(layers)
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return nbtrain.fit(
        model,
        x[:128],
        y[:128],
        epochs=100_000,
        batch_size=16,
        validation_data=(x[128:], y[128:]),
        start=False,
    )


@pytest.fixture
def run(page: BarePage) -> nbtrain.Run:
    """A Keras fit that trains; it is stopped before the page goes."""
    return made().start()


@pytest.fixture
def panel(page: BarePage, run: nbtrain.Run) -> Locator:
    """The panel of a fit that has come to its third epoch."""
    panel = page.panel(run)
    expect(panel).to_be_visible()
    wait_for_epochs(panel, 3)
    return panel


def test_a_fit_and_its_validation_share_a_chart_for_each_metric(
    page: BarePage, panel: Locator
) -> None:
    expect(panel.locator("section[data-tag]")).to_have_count(3)
    for tag in ("epoch_loss", "epoch_accuracy"):
        expect(chart(panel, tag).locator(".nbt-last")).to_have_text(
            re.compile(r"^[\d.]+val [\d.]+$")
        )
        blue, orange = colours(panel, tag)
        assert blue > 50
        assert orange > 50
    assert colours(panel, "batch_loss")[1] == 0


def test_an_evaluation_is_a_point_of_the_curve_that_the_epochs_have(
    page: BarePage, panel: Locator
) -> None:
    click(panel, "pause")
    receipt(panel, "paused")
    click(panel, "evaluate")
    receipt(panel, "val_loss")
    expect(panel.locator("section[data-tag]")).to_have_count(3)  # a curve stands in one chart
    assert colours(panel, "batch_loss")[1] == 0
    for name in ("loss", "accuracy"):
        label = chart(panel, f"epoch_{name}").locator(".nbt-plot")
        tags = f"epoch_{name}, epoch_val_{name} and val_{name}"
        expect(label).to_have_attribute("aria-label", f"chart of {tags}")


def test_the_hover_tells_both_and_zoom_and_log_scale_hold_both(
    page: BarePage, panel: Locator
) -> None:
    click(panel, "pause")
    receipt(panel, "paused")
    shared = chart(panel, "epoch_loss")
    over, legend = shared.locator(".u-over"), shared.locator("[data-role=legend]")
    box = over.bounding_box()
    assert box is not None
    over.hover(position={"x": box["width"] - 2, "y": 60})
    expect(legend).to_have_text(re.compile(r"^step [\d,]+ +[\d.]+val [\d.]+$"))
    expect(shared.locator(".nbt-dot:visible")).to_have_count(2)
    shared.get_by_role("button", name="log").click()
    assert min(colours(panel, "epoch_loss")) > 50
    page.page.mouse.move(box["x"] + 5, box["y"] + 60)
    page.page.mouse.down()
    page.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 60)
    page.page.mouse.up()
    assert min(colours(panel, "epoch_loss")) > 20


def test_both_go_on_after_a_restore_beside_what_was_abandoned(
    page: BarePage, panel: Locator
) -> None:
    click(panel, "save")
    receipt(panel, "saved")
    wait_for_epochs(panel, step_of(panel) // EPOCH + 3)
    click(panel, "restore")
    receipt(panel, "restored")
    wait_for_epochs(panel, step_of(panel) // EPOCH + 3)
    expect(panel.locator("section[data-tag]")).to_have_count(3)
    assert min(colours(panel, "epoch_loss")) > 50


@pytest.mark.parametrize("width", [400, 960])
def test_they_differ_in_both_themes_and_the_panel_stays_after_the_end(
    page: BarePage, width: int, tmp_path: Path
) -> None:
    folder = Path(os.environ.get("NBTRAIN_SCREENSHOTS", tmp_path))
    page.page.set_viewport_size({"width": width + 24, "height": 1300})
    run = made()
    for epoch in (3, 8):  # of hundreds of steps the legend tells a range, which takes more room
        run.post(Pause(), at=epoch * EPOCH)
    panel = page.panel(run.start())
    phase(panel, "paused")
    click(panel, "evaluate")
    receipt(panel, "val_loss")
    click(panel, "resume")
    receipt(panel, "running again")
    phase(panel, "paused")
    over = chart(panel, "epoch_loss").locator(".u-over")
    legend = chart(panel, "epoch_loss").locator("[data-role=legend]")
    for theme in ("light", "dark"):
        page.theme(theme)
        expect(panel).to_have_attribute("data-theme", theme)
        box = over.bounding_box()
        assert box is not None
        over.hover(position={"x": 0.9 * box["width"], "y": 60})
        expect(legend).to_contain_text("val")
        assert legend.evaluate("e => e.scrollWidth <= e.clientWidth"), "nothing of it is cut off"
        panel.screenshot(path=folder / f"validation-{width}-{theme}.png", animations="disabled")
    click(panel, "stop")
    phase(panel, "stopped")
    page.page.mouse.move(0, 0)
    over.hover()
    expect(legend).to_contain_text("val")
