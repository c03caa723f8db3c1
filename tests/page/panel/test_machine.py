"""The charts of the machine in the panel: folded away, and opened."""

from __future__ import annotations

from playwright.sync_api import expect

import nbtrain
from tests.page.bare import BarePage, phase
from tests.page.paced import Paced


def beside(run: nbtrain.Run) -> None:
    """Records the use of a machine at the present step."""
    values = {"system/cpu_percent": 41.5, "system/memory_gb": 7.25}
    run.attempt.context.recorder.aside(values, lambda: run.status.step)


def test_the_machine_is_folded_away_below_the_charts(page: BarePage, paced: Paced) -> None:
    run = paced.train(system=False)
    panel = page.panel(run)
    phase(panel, "running")
    expect(panel.locator("[data-tag=loss]")).to_be_visible()
    expect(panel.locator(".nbt-machine")).to_be_hidden()
    beside(run)
    machine = panel.locator(".nbt-machine")
    summary = machine.locator("summary")
    expect(summary).to_have_text("System: 2 curves of CPU, memory, disk and GPUs")
    expect(panel.locator("[data-tag^=system]")).to_have_count(0)
    summary.click()
    chart = machine.locator("[data-tag='system/cpu_percent']")
    expect(chart).to_contain_text("41.5")
    expect(chart.locator(".uplot")).to_be_visible()
    expect(chart).not_to_contain_text("best")
    expect(panel.locator(".nbt-charts").first.locator(".nbt-chart")).to_have_count(2)
