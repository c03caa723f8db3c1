"""Runs and boards in marimo: its own server, its own page."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.gate import eventually
from tests.page.bare import phase, receipt
from tests.page.marimo import marimo

# The loop waits for a file: until all cells have been executed, no message of the page arrives.
NOTEBOOK = """
import marimo
app = marimo.App()

@app.cell
def imports():
    import pathlib, time
    import nbtrain, tensorflow as tf
    w = tf.Variable(3.0)
    def step():
        time.sleep(0.01)
        w.assign_sub(0.01 * w)
        return {"loss": w**2}
    return nbtrain, pathlib, step, tf, time, w

@app.cell
def trained(nbtrain, step, tf, w):
    run = nbtrain.train(step, name="mine", checkpoint=tf.train.Checkpoint(w=w), config={"units": 3})
    run
    return (run,)

@app.cell
def looped(nbtrain, pathlib, run, time):
    for number in nbtrain.track(range(3), name="looped"):
        while number == 1 and not pathlib.Path("go").exists():
            time.sleep(0.05)
    name = run.name
    return (name,)

@app.cell
def board(name, nbtrain):
    nbtrain.scalars("runs", runs=name)
    return
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the notebook."""
    return tmp_path_factory.mktemp("marimo")


@pytest.fixture(scope="module")
def page(browser: Browser, folder: Path) -> Iterator[Page]:
    """The notebook, all of whose cells are being executed."""
    (folder / "notebook.py").write_text(NOTEBOOK)
    with marimo(folder, sys.executable, theme="dark") as address:
        page = browser.new_page()
        page.goto(address)
        yield page
        page.close()


@pytest.fixture
def panel(page: Page) -> Locator:
    """The panel of the run."""
    return page.locator(".nbt-panel").first


@pytest.fixture
def looped(page: Page) -> Locator:
    """The panel of the loop that keeps the kernel busy."""
    return page.locator(".nbt-panel", has_text="looped")


@pytest.fixture
def executed(looped: Locator, folder: Path) -> None:
    """All cells have been executed, whichever tests have run before: messages arrive.

    The last cell shows what the run has written by then.
    """
    files = (folder / "runs/mine").glob
    eventually(lambda: any(b"loss" in each.read_bytes() for each in files("*.tfevents.*")))
    (folder / "go").touch()
    phase(looped, "finished")


def test_panels_are_live_while_a_cell_runs_and_a_click_waits_for_it(
    panel: Locator, looped: Locator, folder: Path
) -> None:
    phase(looped, "running")
    phase(panel, "running")
    expect(panel.locator("[data-role=config]")).to_have_text("Config: units 3")
    expect(panel.locator("canvas").first).to_be_visible()
    panel.get_by_role("button", name="Pause").click()
    phase(panel, "running")
    (folder / "go").touch()
    phase(looped, "finished")
    phase(panel, "paused")
    assert "paused" in receipt(panel, "paused")


def test_a_panel_is_dark_where_the_notebook_is(panel: Locator) -> None:
    expect(panel).to_have_attribute("data-theme", "dark")


@pytest.mark.usefixtures("executed")
def test_a_board_is_the_output_of_a_cell(page: Page) -> None:
    board = page.locator(".nbt:not(.nbt-panel)").last
    expect(board).to_have_attribute("data-theme", "dark")
    board.locator("[data-run=mine]").scroll_into_view_if_needed()
    expect(board.locator("canvas").first).to_be_visible()


@pytest.mark.usefixtures("executed")
def test_the_panel_stays_after_the_end(panel: Locator) -> None:
    panel.get_by_role("button", name="Stop").click()
    phase(panel, "stopped")
    expect(panel.get_by_role("button", name="Pause")).to_be_disabled()
    expect(panel.locator("canvas").first).to_be_visible()
