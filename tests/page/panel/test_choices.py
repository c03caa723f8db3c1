"""The panel's list of checkpoints and its form of a trial."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.page.bare import BarePage, click, in_text, phase, receipt, step_of, wait_for_step

CLOCK = r"\d\d:\d\d:\d\d"


@pytest.fixture
def panel(panel: Locator) -> Locator:
    """The panel of a training that has been running for a while."""
    wait_for_step(panel, 50)
    return panel


def choices(panel: Locator, *wanted: str) -> None:
    """Wait until the list begins with these; each is a regular expression of a whole text."""
    options = panel.locator("[data-role=checkpoints] option")
    for number, text in enumerate(wanted):
        expect(options.nth(number)).to_have_text(re.compile(f"^{text}$"))


def save(panel: Locator) -> int:
    """A checkpoint; its step."""
    click(panel, "save")
    receipt(panel, "saved ckpt-")
    return in_text(receipt(panel, "saved ckpt-"))


def test_the_list_tells_copies_and_what_was_abandoned_from_what_counts(
    page: BarePage, panel: Locator, tmp_path: Path
) -> None:
    choices(panel, "choose a checkpoint", rf"step 0 · {CLOCK} · copy")
    click(panel, "restore")
    receipt(panel, "✕ restore: No checkpoint was saved yet. There are copies of good states")
    first = save(panel)
    choices(panel, f"latest · step {first:,}", rf"step {first:,} · {CLOCK}")
    wait_for_step(panel, first + 50)
    click(panel, "pause")
    phase(panel, "paused")
    second = save(panel)
    choices(panel, f"latest · step {second:,}", rf"step {second:,} · {CLOCK}")
    listed = panel.locator("[data-role=checkpoints]")
    listed.select_option(f"checkpoints/ckpt-{first}")
    click(panel, "restore")
    receipt(panel, f"✓ restored ckpt-{first}")
    choices(
        panel,
        f"latest · step {first:,}",
        rf"step {second:,} · {CLOCK} · abandoned",
    )
    expect(listed.locator("option", has_text="copy").last).to_have_text(
        re.compile(rf"^step 0 · {CLOCK} · copy$")
    )
    expect(listed).to_have_value(f"checkpoints/ckpt-{first}")
    expect(listed.locator(f"option[value='checkpoints/ckpt-{first}']")).to_have_text(
        re.compile(rf"^step {first:,} · {CLOCK}$")
    )
    before = listed.bounding_box()
    listed.select_option(f"checkpoints/ckpt-{second}")
    after = listed.bounding_box()
    assert before is not None
    assert after is not None
    assert after["width"] > before["width"], "what is chosen is read whole"
    folder = Path(os.environ.get("NBTRAIN_SCREENSHOTS", tmp_path))
    panel.screenshot(path=folder / "chosen.png", animations="disabled")
    listed.evaluate("list => { list.size = 6; list.style.cssText = 'width: auto; height: auto'; }")
    panel.screenshot(path=folder / "choices.png", animations="disabled")
    assert (folder / "choices.png").stat().st_size > 10_000


def test_a_trial_that_was_refused_is_there_to_be_corrected(page: BarePage, panel: Locator) -> None:
    button = panel.get_by_role("button", name="Try…")
    form = panel.locator("[data-role=trial]")
    value, steps = form.get_by_label("new value"), form.get_by_label("steps")
    name, tag = form.get_by_role("combobox", name="try"), form.get_by_label("undo if worse")

    def asked(*wanted: str) -> None:
        button.click()
        for each, text in zip((name, value, steps, tag), wanted, strict=True):
            expect(each).to_have_value(text)

    asked("learning_rate", "0.0005", "200", "loss")
    name.select_option("dropout")
    expect(value).to_have_value("0.125")
    tag.select_option("accuracy")
    value.fill("a half")
    steps.fill("60")
    steps.press("Enter")
    receipt(panel, "✕ try: dropout='a half'")
    asked("dropout", "a half", "60", "accuracy")
    value.fill("0.5")
    steps.fill("900000")
    value.press("Enter")
    receipt(panel, "✕ try: steps=900,000")
    asked("dropout", "0.5", "900000", "accuracy")
    page.page.keyboard.press("Escape")
    asked("dropout", "0.5", "900000", "accuracy")
    name.select_option("learning_rate")
    expect(value).to_have_value("0.0005")
    name.select_option("dropout")
    expect(value).to_have_value("0.125")
    steps.fill("60")
    before = step_of(panel)
    value.press("Enter")
    receipt(panel, "accuracy ")
    assert step_of(panel) > before
    button.click()
    expect(value).not_to_have_value("0.5")
    page.page.keyboard.press("Escape")
