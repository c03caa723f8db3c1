"""A training that clears the output of its cell, as loops of tutorials do."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.lab.lab import Lab, opened
from tests.lab.steps import wait_for_step
from tests.page.bare import click, phase, see_curve

FIRST = """\
import threading, nbtrain, tensorflow as tf
from IPython.display import clear_output
%load_ext nbtrain
wait = threading.Event().wait
"""
LOOP = """\
for number in run.track(range(100_000)):
    wait(0.01)
    run.record(loss=1 / (1 + number))
    if number % 50 == 0:
        clear_output(wait=True)
        print("turn", number)
"""
CELLS = {
    "background": "%%nbtrain --name clears-behind\n" + LOOP,
    "foreground": "run = nbtrain.track(range(100_000), name='clears-here')\n"
    + LOOP.replace("run.track(range(100_000))", "run"),
}


@pytest.mark.parametrize("kind", CELLS)
def test_the_panel_stays_above_what_follows_a_cleared_output(
    browser: Browser, lab: Lab, kind: str
) -> None:
    path = lab.notebook(f"clearing-{kind}", FIRST, CELLS[kind])
    with opened(browser, lab, path) as page:
        page.run(0)
        page.run(1, wait=False)
        panel = page.panel(1)
        phase(panel, "running")
        wait_for_step(page, 1, 120)
        expect(panel).to_have_count(1)
        see_curve(panel)
        printed = page.cells.nth(1).locator(".jp-OutputArea-output pre", has_text="turn")
        expect(printed).to_have_text(re.compile(r"^turn \d+\s*$"))
        stop = panel.locator("[data-command=stop]")
        box = stop.bounding_box()
        assert box is not None
        page.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.page.mouse.down()
        before = printed.inner_text()
        expect(printed).not_to_have_text(before)  # cleared meanwhile
        page.page.mouse.up()
        phase(panel, "stopped")
        page.wait_done(1)


def test_what_is_cleared_in_an_output_widget_leaves_the_panel_alone(
    browser: Browser, lab: Lab
) -> None:
    loop = LOOP.replace("        clear", "        with out:\n            clear")
    loop = loop.replace("        print", "            print")
    # An `Output` takes all that its cell shows as long as it is entered, in whatever thread.
    loop = loop.replace("if number % 50 == 0:", "if shown.is_set() and number % 50 == 0:")
    within = f"%%nbtrain --name clears-within\n{loop}"
    first = f"{FIRST}from ipywidgets import Output\nout, shown = Output(), threading.Event()\nout"
    path = lab.notebook("clearing-within", first, within, "shown.set()")
    with opened(browser, lab, path) as page:
        page.run(0)
        page.run(1, wait=False)
        panel = page.panel(1)
        phase(panel, "running")
        panel.evaluate("panel => (panel.dataset.seen = 'first')")
        page.run(2)
        expect(page.cells.nth(0).locator("pre", has_text="turn")).to_be_visible()
        wait_for_step(page, 1, 120)
        expect(page.page.locator(".nbt")).to_have_count(1)
        expect(panel).to_have_attribute("data-seen", "first")
        click(panel, "stop")
        phase(panel, "stopped")
