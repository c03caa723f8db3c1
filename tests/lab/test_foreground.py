"""A loop in the foreground in a real JupyterLab: its own cell is busy, and its panel works."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, expect

from tests.lab.lab import Lab, opened
from tests.lab.steps import UNROUTED, wait_for_step
from tests.on_disk import journal
from tests.page.bare import click, phase, receipt, see_curve

FIRST = "import threading, nbtrain, tensorflow as tf\nwait = threading.Event().wait\n"
LOOP = """\
run = nbtrain.track(range(50), name={name!r})
for epoch in run:
    for number in run.track(range(1000)):
        wait(0.01)
        run.record(loss=1 / (1 + number))
print("after:", run.status.phase)
"""


@pytest.mark.parametrize("kernel", ["new", "old"])
def test_the_panel_of_a_busy_cell_is_live_and_its_buttons_work(
    browser: Browser, lab: Lab, kernel: str
) -> None:
    first = FIRST + (UNROUTED if kernel == "old" else "")
    name = f"foreground-{kernel}"
    path = lab.notebook(name, first, LOOP.format(name=name))
    with opened(browser, lab, path) as page:
        page.run(0)
        page.run(1, wait=False)
        panel = page.panel(1)
        phase(panel, "running")
        wait_for_step(page, 1, 20)
        see_curve(panel)
        expect(panel).to_contain_text("epoch 1 of 50")
        click(panel, "pause")
        receipt(panel, "paused")
        phase(panel, "paused")
        click(panel, "resume")
        phase(panel, "running")
        expect(page.cells.nth(1).locator(".jp-InputPrompt")).to_have_text("[*]:")
        click(panel, "stop")
        phase(panel, "stopped")
        page.wait_done(1)
        assert "after: stopped" in page.text(1)
    (line,) = journal(lab.root / "runs" / name, "stop")
    if kernel == "old":  # it reads no message while its cell runs
        assert line["by"] == "the panel, through the run's folder"
