"""A notebook that is opened again without its kernel: what it showed of a run, it still shows."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import nbformat
from playwright.sync_api import Browser, Locator, expect

from tests.chromium import SECOND
from tests.lab.lab import Lab, NotebookPage, opened

# Pictures every second, where a minute is long. Something is printed before each output of the
# cell, as by a step.
TRAIN = """\
import itertools, time
import nbtrain
from nbtrain.notebook import still
still.EACH_SECS = still.SOON_SECS = still._SHARE = 1
numbers = itertools.count(1)
def step():
    time.sleep(0.01)
    return {"loss": 1 / next(numbers)}
def beside(message):
    print("beside", flush=True)
    return message
get_ipython().display_pub.register_hook(beside)
run = nbtrain.train(step, name="night")
display(run)
_ = get_ipython().display_pub.unregister_hook(beside)
"""
BOARD = "nbtrain.scalars('runs')"
TWO = "other = nbtrain.train(step, name='other')\ndisplay(other, run)"


def pictures(page: NotebookPage, index: int) -> Locator:
    """The picture of a cell, and the words below it."""
    return page.cells.nth(index).locator(".jp-RenderedImage img, .nbtrain-still")


def see_hidden(shown: Locator) -> None:
    expect(shown).to_have_count(2)
    for each in shown.all():
        expect(each).to_be_hidden()


def saved(page: NotebookPage, path: Path) -> list[Any]:
    """The cells of the notebook, saved."""
    page.save()
    return list(nbformat.read(path, as_version=4).cells)


def picture_in(cells: list[Any]) -> str:
    """The run's picture."""
    outputs = [each.get("data", {}) for each in cells[0]["outputs"]]
    _live, shown = [data for data in outputs if "image/png" in data]
    return str(shown["image/png"])


def see_another_picture(page: NotebookPage, path: Path, before: str) -> str:
    """Save until the notebook has another picture of the run; that one."""
    deadline = time.monotonic() + 60
    while (later := picture_in(saved(page, path))) == before:
        assert time.monotonic() < deadline, "the picture is still the same"
        page.page.wait_for_timeout(0.5 * SECOND)
    assert len(later) > 1000
    return later


def see_what_stays(page: NotebookPage, shots: Path) -> None:
    """The pictures and what to type; nothing of a widget that is missing."""
    for theme in ("Dark", "Light"):
        page.theme(f"JupyterLab {theme}")
        for index in (0, 1):
            expect(pictures(page, index)).to_have_count(2)
            for each in pictures(page, index).all():
                expect(each).to_be_visible()
            is_dark = "invert(0.9) hue-rotate(180deg)"
            drawn = pictures(page, index).first
            expect(drawn).to_have_css("filter", is_dark if theme == "Dark" else "none")
        missing = page.page.get_by_text("Error displaying widget")
        expect(missing).to_have_count(4)  # so long it takes until the page knows
        for each in missing.all():
            expect(each).to_be_hidden()
        page.page.screenshot(path=shots / f"saved-{theme}.png")
    expect(pictures(page, 0).last).to_contain_text("nbtrain.scalars('runs/night')")
    expect(pictures(page, 1).last).to_contain_text("run the cell again")
    expect(page.page.locator(".nbt")).to_have_count(0)
    see_prints(page)


def see_prints(page: NotebookPage) -> None:
    """Checks that the prints are there, among other output."""
    texts = page.cells.nth(0).locator(".jp-OutputArea-output pre", has_text="beside")
    expect(texts).to_have_count(3)
    for text in texts.all():
        expect(text).to_be_visible()


def see_both(page: NotebookPage, index: int) -> None:
    """Checks that the panels of two runs in a cell are there, although the first has ended."""
    cell = page.cells.nth(index)
    expect(cell.locator(".nbt")).to_have_count(2)
    expect(cell.locator("[data-role=phase]").first).to_contain_text("stopped")
    expect(cell.locator(".nbtrain-still")).to_have_count(2)
    for each in cell.locator(".nbtrain-still, .jp-RenderedImage img").all():
        expect(each).to_be_hidden()


def test_a_notebook_shows_the_same_without_its_kernel(
    browser: Browser, lab: Lab, tmp_path: Path
) -> None:
    path = lab.notebook("night", TRAIN, BOARD, TWO, "_ = other.request_stop(), other.wait(60)")
    with opened(browser, lab, path) as page:
        page.spoilt = True
        page.run(0)
        expect(page.panel(0).locator("[data-role=phase]")).to_contain_text("running")
        page.run(1)
        expect(page.panel(1)).to_be_visible()
        for index in (0, 1):
            see_hidden(pictures(page, index))
        see_prints(page)
        page.run(2)
        expect(page.cells.nth(2).locator(".nbt")).to_have_count(2)
        page.run(3)
        see_both(page, 2)
        first = see_another_picture(page, path, picture_in(saved(page, path)))
        assert sum(len(json.dumps(each)) for each in saved(page, path)[0]["outputs"]) < 200_000
        page.reload()  # from now on an update by its display_id is dropped
        expect(page.panel(0).locator("[data-role=phase]")).to_contain_text("running")
        see_hidden(pictures(page, 0))
        see_another_picture(page, path, first)
        see_prints(page)
    lab.end_kernels(wait=True)
    with opened(browser, lab, path) as page:
        page.spoilt = True
        see_what_stays(page, tmp_path)
