"""A page in a real JupyterLab that hears nothing from its kernel's threads, as in Colab."""

from __future__ import annotations

from playwright.sync_api import Browser, expect

from tests.lab.lab import Lab, opened
from tests.lab.steps import UNROUTED, wait_for_step
from tests.page.bare import click, phase, receipt, see_curve

# What a thread sends while the kernel executes nothing is lost.
SILENT = """\
import threading
from ipykernel.comm.comm import BaseComm

kernel, executes = get_ipython().kernel, threading.Event()
publish_status, publish = kernel._publish_status, BaseComm.publish_msg


def note_status(status, channel, parent=None):
    if channel == "shell":
        executes.set() if status == "busy" else executes.clear()
    publish_status(status, channel, parent)


def publish_executed(self, *args, **kwargs):
    if threading.current_thread() is threading.main_thread() or executes.is_set():
        publish(self, *args, **kwargs)


kernel._publish_status, BaseComm.publish_msg = note_status, publish_executed
"""
TRAIN = """\
import threading, nbtrain
wait = threading.Event().wait
losses = iter(1 / n for n in range(1, 10**6))


def step():
    wait(0.01)
    return {"loss": next(losses)}


run = nbtrain.train(step, steps=10**5, name="silent")
"""


def test_a_page_asks_for_what_does_not_reach_it(browser: Browser, lab: Lab) -> None:
    path = lab.notebook("silent", SILENT + UNROUTED, TRAIN)
    with opened(browser, lab, path) as page:
        page.run(0)
        page.run(1)
        panel = page.panel(1)
        asks = panel.locator("[data-role=pulls]")
        phase(panel, "running")
        expect(asks).to_have_text("asks for news every second")
        first = int(panel.get_attribute("data-step") or 0)
        wait_for_step(page, 1, first + 100)
        see_curve(panel)
        click(panel, "pause")
        receipt(panel, "paused")
        phase(panel, "paused")
        click(panel, "resume")
        phase(panel, "running")
        click(panel, "stop")
        phase(panel, "stopped")
        expect(asks).to_be_hidden()
