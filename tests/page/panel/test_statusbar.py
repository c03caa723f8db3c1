"""The status bar of the panel: where the time goes, and notifications of a page that is hidden."""

from __future__ import annotations

import os
import re
from pathlib import Path

import keras
import numpy as np
from playwright.sync_api import Locator, Page, expect

import nbtrain
from tests.page.bare import BarePage, click, phase, wait_for_step

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
# How the status bar paints what the time goes to: the sign before a word, as its part of the bar.
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
# A page is told this of itself when its tab is not the one in front.
HIDE = """
Object.defineProperty(document, "visibilityState", { configurable: true, get: () => "hidden" });
document.dispatchEvent(new Event("visibilitychange"));
"""


def seen(page: Page) -> list[list[str]]:
    """The notifications that were shown."""
    shown: list[list[str]] = page.evaluate("window.seen")
    return shown


def test_the_status_bar_says_where_the_time_goes(page: BarePage, tmp_path: Path) -> None:
    x = np.random.default_rng(1).normal(size=(512, 8)).astype("float32")
    y = x[:, :3].argmax(1)
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(3)])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    run = nbtrain.fit(model, x, y, epochs=100_000, validation_data=(x, y), save_steps=40)
    panel = page.panel(run)
    expect(panel).to_be_visible()
    wait_for_step(panel, 80)
    time = panel.locator("[data-role=time]")
    expect(time).to_contain_text(re.compile(r"step and input \d+%"))
    expect(time).to_contain_text(re.compile(r"evaluate \d+%"))
    beside = panel.locator("[data-role=beside]")
    expect(beside).to_have_text(re.compile(r"display <?\d+% of a core"))
    expect(panel.locator("[data-role=process]")).to_have_text(
        re.compile(r"CPU \d+% · memory [\d.]+ of [\d.]+ GB")
    )
    folder = Path(os.environ.get("NBTRAIN_SCREENSHOTS", tmp_path))
    for theme in ("light", "dark"):
        page.theme(theme)
        expect(panel).to_have_attribute("data-theme", theme)
        assert len(set(time.locator("span").first.evaluate(GROUNDS, KINDS))) == len(KINDS)
        panel.screenshot(path=folder / f"statusbar-{theme}.png", animations="disabled")


def test_a_hidden_page_notifies_once_of_the_end(
    page: BarePage, panel: Locator, run: nbtrain.Run
) -> None:
    page.page.context.grant_permissions(["notifications"])
    page.page.evaluate(SEEN)
    second = page.panel(run)
    notify = panel.locator("[data-act=notify]")
    expect(notify).to_have_attribute("aria-pressed", "false")
    notify.click()
    expect(notify).to_have_attribute("aria-pressed", "true")
    expect(second.locator("[data-act=notify]")).to_have_attribute("aria-pressed", "true")
    click(panel, "pause")
    phase(panel, "paused")
    click(panel, "resume")
    phase(panel, "running")
    assert seen(page.page) == []
    page.page.evaluate(HIDE)
    click(panel, "stop")
    page.page.wait_for_function("window.seen.length > 0")
    phase(panel, "stopped")
    [[title, body, tag]] = seen(page.page)
    assert title == "paced: stopped"
    assert re.fullmatch(r"at step [\d,]+", body)
    assert tag.startswith("nbtrain paced")


def test_a_browser_that_refuses_is_told_in_words(panel: Locator) -> None:
    statusbar = panel.locator(".nbt-statusbar")  # nothing is granted: Chromium refuses
    statusbar.locator("[data-act=notify]").click()
    refusal = statusbar.locator("[data-role=refusal]")
    expect(refusal).to_contain_text("The browser blocks notifications")
    expect(statusbar.locator("[data-act=notify]")).to_have_attribute("aria-pressed", "false")
