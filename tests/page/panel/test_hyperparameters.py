"""Hyperparameters in the panel: the slider, the field beside it, and a refusal."""

from __future__ import annotations

from pathlib import Path

import keras
from playwright.sync_api import Locator, expect

import nbtrain
from tests.gate import SOON
from tests.on_disk import journal
from tests.page.bare import BarePage, click, phase, receipt
from tests.page.paced import Paced
from tests.page.panel.fields import field, slider


def note(panel: Locator, name: str) -> Locator:
    return panel.locator(f"[data-hyperparameter={name}] .nbt-note")


def edits() -> list[dict[str, list[float]]]:
    """Returns the edits in the journal."""
    return [entry["edits"] for entry in journal(Path("runs/paced")) if "edits" in entry]


def test_a_dragged_slider_sets_the_value_once_when_it_is_let_go(
    page: BarePage, panel: Locator, paced: Paced
) -> None:
    mouse = page.page.mouse
    expect(field(panel, "learning_rate")).to_have_value("0.001")
    box = slider(panel, "learning_rate").bounding_box()
    assert box is not None
    middle, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    mouse.move(middle, y)
    mouse.down()
    mouse.move(middle - 30, y, steps=5)
    mouse.move(middle - 60, y, steps=5)
    dragged = field(panel, "learning_rate").input_value()
    assert 1e-5 < float(dragged) < 0.001
    assert edits() == []
    mouse.up()
    receipt(panel, "✓ learning_rate 0.001 → ")
    expect(field(panel, "learning_rate")).to_have_value(dragged)
    assert paced.values() == (float(dragged), 0.25)
    assert edits() == [{"learning_rate": [0.001, float(dragged)]}]


def test_the_arrow_keys_move_a_slider_also_while_paused(
    page: BarePage, panel: Locator, paced: Paced
) -> None:
    click(panel, "pause")
    phase(panel, "paused")
    slider(panel, "dropout").focus()
    page.page.keyboard.press("ArrowRight")
    receipt(panel, "✓ dropout 0.25 → 0.26")
    expect(slider(panel, "dropout")).to_have_attribute("aria-valuetext", "0.26")
    expect(slider(panel, "dropout")).to_be_focused()
    page.page.keyboard.press("End")
    receipt(panel, "✓ dropout 0.26 → 0.99")
    expect(slider(panel, "dropout")).to_be_focused()
    assert paced.values()[0] == 0.001


def test_an_exact_number_is_set_and_a_wrong_one_refused_in_words(
    panel: Locator, paced: Paced
) -> None:
    exact = field(panel, "learning_rate")
    exact.fill("1.25e-4")
    exact.press("Enter")
    receipt(panel, "✓ learning_rate 0.001 → 0.000125")
    for wrong, why in (("-1", "give 0 or more"), ("fast", "'fast' is no number")):
        exact.fill(wrong)
        exact.press("Enter")
        expect(note(panel, "learning_rate")).to_contain_text(why)
        expect(panel.get_by_text(why)).to_have_count(1)
        expect(panel.locator("[data-role=receipt]")).to_have_text("✕ set learning_rate: refused")
        expect(exact).to_have_value("0.000125")
        expect(exact).to_have_attribute("aria-invalid", "true")
    exact.fill("7")
    exact.press("Escape")
    expect(exact).to_have_value("0.000125")
    expect(note(panel, "learning_rate")).to_have_text("")
    expect(panel.get_by_text(why)).to_have_count(0)
    assert paced.values() == (0.000125, 0.25)


def test_a_long_number_is_seen_whole_and_stays_exact(
    page: BarePage, panel: Locator, paced: Paced, run: nbtrain.Run
) -> None:
    keyboard = page.page.keyboard
    click(panel, "pause")
    phase(panel, "paused")
    run.set(learning_rate=1.5651673e-5).wait(SOON)
    rate = field(panel, "learning_rate")
    expect(rate).to_have_value("1.5652e-5")
    assert rate.evaluate("field => field.scrollWidth <= field.clientWidth")
    full = rate.get_attribute("title")
    assert full is not None
    assert full.startswith("1.56516")
    rate.fill("0.05")  # as a script does it, or a screen reader: selected before it has the focus
    expect(rate).to_have_value("0.05")
    rate.press("Escape")
    slider(panel, "learning_rate").focus()
    keyboard.press("Tab")
    expect(rate).to_be_focused()
    expect(rate).to_have_value(full)
    keyboard.press("Enter")
    keyboard.press("Tab")
    expect(rate).to_have_value("1.5652e-5")
    rate.click()
    field(panel, "dropout").click()
    expect(rate).to_have_value("1.5652e-5")
    keyboard.press("Shift+Tab")
    keyboard.press("Shift+Tab")
    expect(rate).to_be_focused()
    keyboard.type("1.5652e-5")  # what Tab has come to is replaced
    keyboard.press("Tab")
    receipt(panel, "✓ learning_rate 1.565")  # the second edit: from that value
    assert paced.values() == (1.5652e-5, 0.25)
    assert len(edits()) == 2


def test_after_a_trial_that_was_left_nothing_speaks_of_it_but_the_answer(
    page: BarePage, panel: Locator
) -> None:
    rate = field(panel, "learning_rate")
    form = panel.locator("[data-role=trial]")
    click(panel, "save")
    receipt(panel, "✓ saved ckpt-")
    panel.get_by_role("button", name="Try…").click()
    form.get_by_label("steps").fill("50000")
    form.get_by_label("new value").fill("0.0003")
    form.get_by_label("new value").press("Enter")
    expect(rate).to_have_value("0.0003")
    rate.fill("0.3")
    rate.press("Enter")
    expect(note(panel, "learning_rate")).to_contain_text("while it is on trial")
    panel.locator("[data-command=restore]").click()
    receipt(panel, "✓ restored ckpt-")
    line = receipt(panel, "✕ try: the run went back before the trial was over")
    assert line.startswith("✓ restored ckpt-")
    expect(note(panel, "learning_rate")).to_have_text("")
    click(panel, "pause")
    phase(panel, "paused")
    panel.get_by_role("button", name="Try…").click()
    expect(form.get_by_label("new value")).to_have_value("0.0003")  # as typed
    page.page.keyboard.press("Escape")
    rate.fill("0.3")
    rate.press("Enter")
    receipt(panel, "✓ learning_rate 0.001 → 0.3")
    panel.get_by_role("button", name="Try…").click()
    expect(form.get_by_label("new value")).to_have_value("0.15")
    form.get_by_label("new value").fill("fast")
    form.get_by_label("new value").press("Enter")
    receipt(panel, "✕ try: learning_rate='fast' is no number")
    for value, shown in ((None, "fast"), ("0.4", "0.2")):
        if value is not None:
            rate.fill(value)
            rate.press("Enter")
            receipt(panel, f"→ {value}")
        panel.get_by_role("button", name="Try…").click()
        expect(form.get_by_label("new value")).to_have_value(shown)
        page.page.keyboard.press("Escape")


def test_two_panels_agree_and_neither_can_set_a_value_after_the_end(
    page: BarePage, panel: Locator, run: nbtrain.Run
) -> None:
    second = page.panel(run)
    field(panel, "learning_rate").fill("0.5")
    field(panel, "learning_rate").press("Enter")
    expect(field(second, "learning_rate")).to_have_value("0.5")
    run.set(dropout=0.5).wait(SOON)
    for each in (panel, second):
        expect(field(each, "dropout")).to_have_value("0.5")
    run.request_stop()
    for each in (panel, second):
        phase(each, "stopped")
        expect(each.locator(".nbt-row :enabled")).to_have_count(0)


def test_a_slip_of_the_hand_leaves_the_sliders_as_they_were(
    page: BarePage, panel: Locator, run: nbtrain.Run
) -> None:
    second = page.panel(run)
    for value, widest in (("1e30", "1e+30"), ("0.01", "0.1")):
        field(panel, "learning_rate").fill(value)
        field(panel, "learning_rate").press("Enter")
        receipt(panel, "✓ learning_rate")
        for each in (panel, second):
            titled = slider(each, "learning_rate")
            expect(titled).to_have_attribute("title", f"1e-5 to {widest}")
    later = slider(page.panel(run), "learning_rate")
    expect(later).to_have_attribute("title", "1e-5 to 0.1")
    later.focus()
    page.page.keyboard.press("ArrowRight")
    receipt(panel, "✓ learning_rate 0.01 → 0.011")


def test_a_run_without_hyperparameters_has_no_row(page: BarePage) -> None:
    other = nbtrain.train(lambda: {"loss": 1.0}, name="other")
    panel = page.panel(other)
    phase(panel, "running")
    expect(panel.locator(".nbt-rows")).to_be_hidden()


def test_under_a_schedule_the_rate_stands_beside_its_factor(page: BarePage, paced: Paced) -> None:
    schedule = keras.optimizers.schedules.ExponentialDecay(0.5, 1_000_000, 1.0)
    paced.optimizer = keras.optimizers.Adam(schedule)
    panel = page.panel(paced.train(hyperparameters=paced.optimizer))
    phase(panel, "running")
    expect(note(panel, "learning_rate_factor")).to_have_text("rate 0.5 now")
    field(panel, "learning_rate_factor").fill("0.1")
    field(panel, "learning_rate_factor").press("Enter")
    receipt(panel, "✓ learning_rate_factor 1 → 0.1")
    expect(note(panel, "learning_rate_factor")).to_have_text("rate 0.05 now")
