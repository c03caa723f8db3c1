"""The foot of the panel: where the time goes, and notifications of a page that is hidden."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.chromium import SECOND
from tests.lab.lab import Lab, NotebookPage, opened
from tests.lab.test_panel import click, phase, wait_for_step

START = """\
%load_ext nbtrain
import time
import keras
import numpy as np
import nbtrain

x = np.random.default_rng(1).normal(size=(4096, 32)).astype("float32")
y = x[:, :3].argmax(1)
layers = [keras.Input((32,)), keras.layers.Dense(64, "relu"), keras.layers.Dense(3)]
model = keras.Sequential(layers)
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
print("ready")
"""
FIT = """\
run = nbtrain.fit(model, x, y, epochs=10_000, validation_data=(x, y), save_steps=400, name={name!r})
"""
# The browser's own notifications, and what was shown of them.
SEEN = """() => {
window.seen = [];
window.Notification = class extends Notification {
  constructor(title, options) {
    super(title, options);
    window.seen.push([title, this.body, this.tag]);
  }
};
}"""
# How the foot paints what the time goes to: the sign before a word, as its part of the bar.
GROUNDS = """(span, kinds) => {
  const own = span.dataset.kind;
  const grounds = kinds.map((kind) => {
    span.dataset.kind = kind;
    return getComputedStyle(span, "::before").background;
  });
  span.dataset.kind = own;
  return grounds;
}"""
KINDS = ["step", "input", "step and input", "evaluate", "save", "paused"]
# What a page is told of itself when its tab is not the one in front.
HIDE = """
Object.defineProperty(document, "visibilityState", { configurable: true, get: () => "hidden" });
document.dispatchEvent(new Event("visibilitychange"));
"""


@pytest.fixture
def notebook(browser: Browser, lab: Lab, request: pytest.FixtureRequest) -> Path:
    """A notebook with a fit in cell 1, and its view again in cell 2."""
    name = request.node.name
    return lab.notebook(name, START, FIT.format(name=name), "run", "run.on('stopped', print)")


def fit(page: NotebookPage) -> None:
    """Run the cells that start the fit."""
    page.run(0)
    page.run(1)
    phase(page.panel(1), "running")


def seen(page: Page) -> list[list[str]]:
    """The notifications that were shown."""
    shown: list[list[str]] = page.evaluate("window.seen")
    return shown


def test_the_foot_says_where_the_time_goes(
    browser: Browser, lab: Lab, notebook: Path, tmp_path: Path
) -> None:
    with opened(browser, lab, notebook) as page:
        fit(page)
        panel = page.panel(1)
        wait_for_step(page, 1, 800)
        time = panel.locator("[data-role=time]")
        expect(time).to_contain_text(re.compile(r"step \d+%"), timeout=20 * SECOND)
        expect(time).to_contain_text(re.compile(r"evaluate \d+%"), timeout=20 * SECOND)
        expect(panel.locator("[data-role=beside]")).to_have_text(
            re.compile(r"display <?\d+% beside")
        )
        expect(panel.locator("[data-role=process]")).to_have_text(
            re.compile(r"CPU \d+% · memory [\d.]+ of [\d.]+ GB")
        )
        folder = Path(os.environ.get("NBTRAIN_SCREENSHOTS", tmp_path))
        for theme, name in (("JupyterLab Light", "light"), ("JupyterLab Dark", "dark")):
            page.theme(theme)
            expect(panel).to_have_attribute("data-theme", name)
            assert len(set(time.locator("span").first.evaluate(GROUNDS, KINDS))) == len(KINDS)
            panel.screenshot(path=folder / f"foot-{name}.png", animations="disabled")


def test_a_hidden_page_notifies_once_of_the_end(browser: Browser, lab: Lab, notebook: Path) -> None:
    with opened(browser, lab, notebook) as page:
        page.spoilt = True
        page.page.context.grant_permissions(["notifications"])
        page.page.evaluate(SEEN)
        fit(page)
        page.run(2)
        notify = page.panel(1).locator("[data-act=notify]")
        expect(notify).to_have_attribute("aria-pressed", "false")
        notify.click()
        expect(notify).to_have_attribute("aria-pressed", "true")
        expect(page.panel(2).locator("[data-act=notify]")).to_have_attribute("aria-pressed", "true")
        click(page.panel(1), "pause")
        phase(page.panel(1), "paused")
        click(page.panel(1), "resume")
        phase(page.panel(1), "running")
        assert seen(page.page) == []
        page.page.evaluate(HIDE)
        click(page.panel(1), "stop")
        page.page.wait_for_function("window.seen.length > 0")
        expect(page.panel(1)).to_have_count(0, timeout=20 * SECOND)
        [[title, body, tag]] = seen(page.page)
        assert title == "test_a_hidden_page_notifies_once_of_the_end: stopped"
        assert re.fullmatch(r"at step [\d,]+", body)
        assert tag.startswith("nbtrain test_a_hidden_page")


def test_a_browser_that_refuses_is_told_in_words(
    browser: Browser, lab: Lab, notebook: Path
) -> None:
    with opened(browser, lab, notebook) as page:  # nothing is granted: Chromium refuses
        fit(page)
        foot = page.panel(1).locator(".nbt-foot")
        foot.locator("[data-act=notify]").click()
        expect(foot.locator("[data-role=refusal]")).to_contain_text("The browser refuses")
        expect(foot.locator("[data-act=notify]")).to_have_attribute("aria-pressed", "false")


def test_what_a_listener_prints_appears_under_its_cell(
    browser: Browser, lab: Lab, notebook: Path
) -> None:
    with opened(browser, lab, notebook) as page:
        fit(page)
        page.run(3)
        page.run(2)  # the last cell that has run is another
        click(page.panel(1), "stop")
        expect(page.cells.nth(3).locator(".jp-OutputArea").first).to_contain_text(
            re.compile(r"step \d+  stopped"), timeout=20 * SECOND
        )
