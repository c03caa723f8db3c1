"""Notes and tags in the panel: a form, a mark on the curves, and the head."""

from __future__ import annotations

from playwright.sync_api import expect

import nbtrain
from tests.gate import SOON
from tests.models import applied
from tests.page.bare import BarePage, phase, receipt
from tests.page.paced import Paced


def test_a_note_is_added_from_the_panel_and_is_a_mark(page: BarePage, paced: Paced) -> None:
    run = paced.train(tags=["baseline", "adam"])
    panel = page.panel(run)
    phase(panel, "running")
    expect(panel.locator("[data-role=tags]")).to_have_text("#baseline #adam")
    panel.locator("[data-act=note]").click()
    field = panel.get_by_label("note", exact=True)
    expect(field).to_be_focused()
    field.fill("the loss is flat")
    field.press("Enter")
    assert "the loss is flat" in receipt(panel, "the loss is flat")
    expect(field).to_be_hidden()
    (note,) = [mark for mark in run.marks if mark.event == "note"]
    assert note.text == "the loss is flat"
    applied(run.tag("best"))
    expect(panel.locator("[data-role=tags]")).to_have_text("#best")


def test_the_runs_of_a_board_are_found_by_their_tags(page: BarePage) -> None:
    for name, tags in (("one", ["adam"]), ("two", ["sgd"]), ("three", [])):
        nbtrain.train(lambda: {"loss": 1.0}, steps=3, name=name, tags=tags).wait(SOON)
    board = page.line("scalars runs").locator(".nbt")
    one, two, three = (board.locator(f"[data-run={name}]") for name in ("one", "two", "three"))
    expect(one).to_have_text("one#adam")
    expect(three.locator("[data-role=labels]")).to_be_hidden()
    board.locator("[data-role=filter-runs]").fill("#sgd|^three$")
    expect(one).to_be_hidden()
    expect(two).to_be_visible()
    expect(three).to_be_visible()
