"""A notebook that is opened again without its kernel: what it showed of a run, it still shows."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import nbformat
from playwright.sync_api import Browser, Locator, expect

from tests.chromium import SECOND
from tests.lab.lab import Lab, NotebookPage, opened

# Pictures every second, where a minute is long.
TRAIN = """\
import itertools, time
import nbtrain
from nbtrain.notebook import still
still.EACH_SECS = still.SOON_SECS = still._SHARE = 1
numbers = itertools.count(1)
def step():
    time.sleep(0.01)
    return {"loss": 1 / next(numbers)}
run = nbtrain.train(step, name="night")
"""
BOARD = "nbtrain.scalars('runs')"


def pictures(page: NotebookPage, index: int) -> Locator:
    return page.cells.nth(index).locator(".nbtrain-still")


def saved(page: NotebookPage, path: Path) -> list[Any]:
    """The cells of the notebook, saved."""
    page.save()
    return list(nbformat.read(path, as_version=4).cells)


def step_in(cells: list[Any]) -> int:
    """The step of the run's picture."""
    page = "".join(each["data"].get("text/html", "") for each in cells[0]["outputs"])
    found = re.search(r'alt="night · \w+ · step ([\d,]+) ', page)
    return int(found[1].replace(",", "")) if found else -1


def see_later_step(page: NotebookPage, path: Path, step: int) -> int:
    """Save until the picture is of a later step; the step."""
    deadline = time.monotonic() + 60
    while (later := step_in(saved(page, path))) <= step:
        assert time.monotonic() < deadline, f"the picture is still of step {step}"
        page.page.wait_for_timeout(0.5 * SECOND)
    return later


def see_what_stays(page: NotebookPage, shots: Path) -> None:
    """The pictures and what to type; nothing of a widget that is missing."""
    for theme in ("Dark", "Light"):
        page.theme(f"JupyterLab {theme}")
        for index in (0, 1):
            expect(pictures(page, index).locator("img")).to_be_visible()
        missing = page.page.get_by_text("Error displaying widget")
        expect(missing).to_have_count(2)  # so long it takes until the page knows
        for each in missing.all():
            expect(each).to_be_hidden()
        page.page.screenshot(path=shots / f"saved-{theme}.png")
    words = pictures(page, 0)
    expect(words).to_contain_text("nbtrain.scalars('runs/night')")
    expect(pictures(page, 1)).to_contain_text("run the cell again")
    expect(page.page.locator(".nbt")).to_have_count(0)


def test_what_a_notebook_showed_it_shows_without_its_kernel(
    browser: Browser, lab: Lab, tmp_path: Path
) -> None:
    path = lab.notebook("night", TRAIN, BOARD)
    with opened(browser, lab, path) as page:
        page.spoilt = True
        page.run(0)
        expect(page.panel(0).locator("[data-role=phase]")).to_contain_text("running")
        page.run(1)
        expect(page.panel(1)).to_be_visible()
        for index in (0, 1):
            expect(pictures(page, index)).to_be_hidden()
        first = see_later_step(page, path, 0)
        assert sum(len(json.dumps(each)) for each in saved(page, path)[0]["outputs"]) < 200_000
        page.page.reload()  # from now on an update by its display_id is dropped
        expect(page.panel(0).locator("[data-role=phase]")).to_contain_text("running")
        expect(pictures(page, 0)).to_be_hidden()
        see_later_step(page, path, first + 100)
    lab.end_kernels()
    with opened(browser, lab, path) as page:
        page.spoilt = True
        see_what_stays(page, tmp_path)
