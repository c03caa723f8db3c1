"""A panel whose output is cleared and shown again while somebody uses it."""

from __future__ import annotations

from typing import Literal

import pytest
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


@pytest.mark.parametrize("button", ["right", "middle"])
def test_another_button_of_the_mouse_presses_nothing(
    page: BarePage, panel: Locator, run: nbtrain.Run, button: Literal["right", "middle"]
) -> None:
    phase(panel, "running")
    panel.locator("[data-command=pause]").hover()
    page.page.mouse.down(button=button)
    move(page, panel)
    page.page.mouse.up(button=button)
    click(panel, "save")
    receipt(panel, "✓ save")
    assert commands(run) == ["Save"]


def test_a_panel_that_moves_takes_no_focus_from_elsewhere(page: BarePage, panel: Locator) -> None:
    click(panel, "pause")
    phase(panel, "paused")
    page.page.evaluate("document.body.append(document.createElement('textarea'))")
    elsewhere = page.page.locator("body > textarea")
    elsewhere.click()
    page.page.keyboard.type("a")
    move(page, panel)
    page.page.keyboard.type("b")
    expect(elsewhere).to_have_value("ab")


def test_a_press_goes_on_where_a_control_is_pushed_down(
    page: BarePage, panel: Locator, run: nbtrain.Run
) -> None:
    """A section that appears above it must not cost the click."""
    phase(panel, "running")
    section = panel.locator("details:has(> summary[data-role=system])")
    expect(section).to_be_visible()
    for is_open, margin in ((True, "60px"), (False, "0px")):
        section.locator("summary").scroll_into_view_if_needed()
        press(page, section.locator("summary"))
        section.evaluate("(section, margin) => (section.style.marginTop = margin)", margin)
        page.page.mouse.up()
        expect(section).to_have_js_property("open", is_open)
    press(page, panel.locator("[data-command=pause]"))
    panel.evaluate("panel => (panel.style.marginTop = '60px')")
    page.page.mouse.move(5, 5)
    page.page.mouse.up()  # elsewhere: nothing
    click(panel, "pause")
    phase(panel, "paused")
    assert commands(run) == ["Pause"]


def test_a_press_without_a_move_is_one_click(
    page: BarePage, panel: Locator, run: nbtrain.Run
) -> None:
    phase(panel, "running")
    move(page, panel)
    click(panel, "pause")
    phase(panel, "paused")
    assert commands(run) == ["Pause"]


def test_half_typed_text_is_not_sent_when_the_panel_moves(
    page: BarePage, panel: Locator, run: nbtrain.Run, paced: Paced
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
    field(panel, "learning_rate").focus()
    field(panel, "dropout").focus()
    click(panel, "pause")
    phase(panel, "paused")
    assert commands(run) == ["Set", "Pause"]


def test_a_dragged_slider_sets_its_value_as_the_panel_moves(
    page: BarePage, panel: Locator, run: nbtrain.Run, paced: Paced
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
    click(panel, "pause")
    phase(panel, "paused")
    assert commands(run) == ["Set", "Pause"]


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
