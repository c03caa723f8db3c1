"""A panel whose output is cleared and shown again while somebody uses it."""

from __future__ import annotations

from playwright.sync_api import Locator, expect

import nbtrain
from tests.page.bare import BarePage, click, phase, receipt
from tests.page.paced import Paced
from tests.page.panel.fields import field, slider


def move(page: BarePage, panel: Locator) -> None:
    """Have the panel in a new output."""
    panel.evaluate("panel => (panel.parentNode.dataset.old = '')")
    page.kernel.show_again()
    expect(page.page.locator("[data-old]")).to_have_count(0)
    expect(panel).to_be_visible()


def press(page: BarePage, control: Locator) -> tuple[float, float]:
    """Press the mouse on the middle of a control; returns the place."""
    box = control.bounding_box()
    assert box is not None
    at = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.page.mouse.move(*at)
    page.page.mouse.down()
    return at


def commands(run: nbtrain.Run) -> list[str]:
    return [type(receipt.command).__name__ for receipt in run.receipts]


def test_a_press_goes_on_where_the_panel_moves_to(
    page: BarePage, panel: Locator, run: nbtrain.Run
) -> None:
    phase(panel, "running")
    press(page, panel.locator("[data-command=pause]"))
    move(page, panel)
    move(page, panel)
    page.page.mouse.up()
    phase(panel, "paused")
    press(page, panel.locator("[data-command=stop]"))
    move(page, panel)
    page.page.mouse.move(5, 5)
    page.page.mouse.up()  # elsewhere: nothing
    click(panel, "resume")
    phase(panel, "running")
    assert commands(run) == ["Pause", "Resume"]


def test_a_press_without_a_move_is_one_click(
    page: BarePage, panel: Locator, run: nbtrain.Run
) -> None:
    phase(panel, "running")
    move(page, panel)
    click(panel, "pause")
    phase(panel, "paused")
    assert commands(run) == ["Pause"]


def test_what_is_half_typed_is_not_sent_and_typed_to_its_end_as_the_panel_moves(
    page: BarePage, panel: Locator, paced: Paced
) -> None:
    exact = field(panel, "learning_rate")
    exact.press("Control+a")
    page.page.keyboard.type("0.0")
    move(page, panel)
    expect(exact).to_be_focused()
    page.page.keyboard.type("2")
    expect(exact).to_have_value("0.02")
    assert paced.values() == (0.001, 0.25)
    move(page, panel)
    field(panel, "dropout").focus()  # the user leaves it
    receipt(panel, "✓ learning_rate 0.001 → 0.02")
    assert paced.values() == (0.02, 0.25)


def test_a_dragged_slider_sets_its_value_as_the_panel_moves(
    page: BarePage, panel: Locator, paced: Paced
) -> None:
    expect(field(panel, "learning_rate")).to_have_value("0.001")
    x, y = press(page, slider(panel, "learning_rate"))
    page.page.mouse.move(x - 60, y, steps=5)
    dragged = field(panel, "learning_rate").input_value()
    assert float(dragged) < 0.001
    move(page, panel)
    assert paced.values() == (0.001, 0.25)
    page.page.mouse.up()
    receipt(panel, "✓ learning_rate 0.001 → ")
    assert paced.values() == (float(dragged), 0.25)


def test_a_form_stays_open_as_the_panel_moves(
    page: BarePage, panel: Locator, run: nbtrain.Run
) -> None:
    panel.locator("[data-act=note]").click()
    note = panel.get_by_label("note", exact=True)
    page.page.keyboard.type("the loss ")
    move(page, panel)
    expect(note).to_be_focused()
    page.page.keyboard.type("is flat\n")
    receipt(panel, "the loss is flat")
    assert [mark.text for mark in run.marks if mark.event == "note"] == ["the loss is flat"]


def test_a_click_waits_for_its_answer_as_the_panel_moves(
    page: BarePage, panel: Locator, run: nbtrain.Run
) -> None:
    phase(panel, "running")
    page.kernel.work()
    click(panel, "pause")
    move(page, panel)
    receipt(panel, "Pause queued")
    page.kernel.go_on()
    phase(panel, "paused")
    assert commands(run) == ["Pause"]
