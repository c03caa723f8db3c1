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


def test_the_config_of_a_run_is_a_line_and_when_opened_a_table(
    page: BarePage, paced: Paced
) -> None:
    config = {"units": 64, "data": {"name": "<digits>"}} | dict.fromkeys(map(str, range(150)), 0.1)
    panel = page.panel(paced.train(config=config))
    summary = panel.locator("[data-role=config]")
    expect(summary).to_contain_text("Config: units 64 · data.name <digits> · 0 0.1")
    assert summary.evaluate("each => each.clientHeight") < 30, "it is one line"
    row = panel.get_by_role("row", name="data.name <digits>")
    expect(row).to_be_hidden()
    summary.click()
    expect(row).to_be_visible()
    expect(panel.get_by_text("and 52 more, in run.status.config")).to_be_visible()


def test_a_run_without_a_config_shows_none(page: BarePage, paced: Paced) -> None:
    panel = page.panel(paced.train())
    phase(panel, "running")
    expect(panel.locator("[data-role=config]")).to_be_hidden()


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
