"""The board's cards in the themes of a real JupyterLab."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.chromium import SECOND
from tests.lab.lab import Lab, NotebookPage, opened

WRITE = """\
%load_ext nbtrain
import tensorflow as tf
import numpy as np

logdir = "logs/" + NAME
noise = np.random.default_rng(1)
writers = {run: tf.summary.create_file_writer(f"{logdir}/{run}") for run in ("adam", "sgd")}

def write(step):
    for n, writer in enumerate(writers.values()):
        with writer.as_default():
            grey = np.clip(noise.normal(0.1 + step / 40, 0.1 + n / 10, (3, 24, 24, 1)), 0, 1)
            tf.summary.image("samples/digits", grey, step=step)
            tf.summary.histogram("dense/kernel", noise.normal(step / 20, 0.3 + n, 500), step=step)
            tf.summary.text("notes/run", f"# Step {step}\\n\\n- **run** {n}\\n- `lr`", step=step)
            time = np.linspace(0, 1, 8000, dtype="f")[None, :, None]
            tf.summary.audio("sounds/tone", np.sin(2000 * time), 8000, step=step)
        writer.flush()

for step in range(20):
    write(step)
"""
SHOW = "%nbtrain images logs/{name} --follow"


@pytest.fixture
def page(browser: Browser, lab: Lab, request: pytest.FixtureRequest) -> Iterator[NotebookPage]:
    """A page with a board of images in the output of cell 1; cell 0 writes the logdir."""
    name = request.node.name
    write = WRITE.replace("NAME", repr(name))
    path = lab.notebook(name, write, SHOW.format(name=name))
    with opened(browser, lab, path, shared=True) as notebook:
        notebook.run(0)
        notebook.run(1)
        expect(notebook.panel(1).locator(".nbt-card img").first).to_be_visible(timeout=30 * SECOND)
        yield notebook


def card_of(board: Locator, tag: str, run: str = "sgd") -> Locator:
    """A card, scrolled into sight: out of it nothing is asked for."""
    card = board.locator(f'section[data-tag="{tag}"][data-run="{run}"]')
    card.scroll_into_view_if_needed()
    return card


def turn_to(board: Locator, name: str) -> None:
    board.get_by_role("tab", name=name).click()
    expect(board.get_by_role("tab", name=name)).to_have_attribute("aria-selected", "true")


def test_the_cards_in_light_and_dark(page: NotebookPage, tmp_path: Path) -> None:
    """Takes pictures of the tabs; `make screenshots` keeps them."""
    folder = Path(os.environ.get("NBTRAIN_SCREENSHOTS", tmp_path))
    board = page.panel(1)
    for theme, name in (("JupyterLab Light", "light"), ("JupyterLab Dark", "dark")):
        page.theme(theme)
        expect(board).to_have_attribute("data-theme", name)
        for tab, sign in (("Images", "img"), ("Histograms", ".uplot"), ("Text", "h1")):
            turn_to(board, tab)
            expect(board.locator(f".nbt-card {sign}").first).to_be_visible()
            board.screenshot(path=folder / f"{tab.lower()}-{name}.png", animations="disabled")
            assert (folder / f"{tab.lower()}-{name}.png").stat().st_size > 10_000
