"""The marks of a curve in the themes of a real JupyterLab."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.lab.lab import Lab, NotebookPage, opened
from tests.lab.test_hyperparameters import TRAIN
from tests.lab.test_panel import START, wait_for_step
from tests.page.bare import click, in_text, receipt, step_of
from tests.page.test_hyperparameters import field
from tests.page.test_marks import ask, pause


@pytest.fixture
def page(browser: Browser, lab: Lab, request: pytest.FixtureRequest) -> Iterator[NotebookPage]:
    """A page with a training that has been running for a while."""
    name = request.node.name
    path = lab.notebook(name, START, TRAIN.format(name=name))
    with opened(browser, lab, path) as notebook:
        notebook.run(0)
        notebook.run(1)
        wait_for_step(notebook, 1, 150)
        yield notebook


def test_marks_in_light_and_dark(page: NotebookPage, tmp_path: Path) -> None:
    """Takes a picture of a mark's offers; `make screenshots` keeps it."""
    folder = Path(os.environ.get("NBTRAIN_SCREENSHOTS", tmp_path))
    panel = page.panel(1)
    click(panel, "save")
    saved = in_text(receipt(panel, "saved ckpt-"))
    wait_for_step(page, 1, saved + 150)
    field(panel, "learning_rate").fill("0.0005")
    field(panel, "learning_rate").press("Enter")
    receipt(panel, "✓ learning_rate")
    wait_for_step(page, 1, step_of(panel) + 150)
    pause(panel)
    for theme, name in (("JupyterLab Light", "light"), ("JupyterLab Dark", "dark")):
        page.theme(theme)
        expect(panel).to_have_attribute("data-theme", name)
        ask(panel, "◆ set")
        page.page.screenshot(path=folder / f"marks-{name}.png", animations="disabled")
        page.page.keyboard.press("Escape")
        assert (folder / f"marks-{name}.png").stat().st_size > 10_000
