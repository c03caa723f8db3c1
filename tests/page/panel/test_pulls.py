"""The panel on a page that hears only the answers to its own messages, as in Colab."""

from __future__ import annotations

from playwright.sync_api import expect

import nbtrain
from nbtrain.core.states import Phase
from tests.gate import eventually
from tests.page.bare import BarePage, click, phase

SECOND_MS = 1000


def test_a_click_in_a_pause_is_answered_on_a_page_that_has_just_heard_a_word(
    page: BarePage, run: nbtrain.Run
) -> None:
    page.load(own_clock=True)
    panel = page.panel(run)
    phase(panel, "running")
    asks = panel.locator("[data-role=pulls]")
    page.kernel.answer_only()
    page.page.clock.run_for(2 * SECOND_MS)
    expect(asks).to_be_visible()
    click(panel, "pause")
    eventually(lambda: run.status.phase is Phase.PAUSED)
    page.page.clock.run_for(SECOND_MS)
    phase(panel, "paused")
    page.kernel.go_on()
    expect(asks).to_be_hidden()
    page.kernel.answer_only()
    click(panel, "resume")
    eventually(lambda: run.status.phase is Phase.RUNNING)
    page.page.clock.run_for(2 * SECOND_MS)
    phase(panel, "running")


def test_a_run_that_is_resumed_from_code_is_seen_on_a_page_that_hears_nothing(
    page: BarePage, run: nbtrain.Run
) -> None:
    run.pause()
    page.load(own_clock=True)
    panel = page.panel(run)
    phase(panel, "paused")
    page.kernel.answer_only()
    run.resume()
    page.page.clock.run_for(12 * SECOND_MS)
    phase(panel, "running")
    expect(panel.locator("[data-role=pulls]")).to_be_visible()
