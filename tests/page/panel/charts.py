"""Charts of a panel on a page."""

from __future__ import annotations

from playwright.sync_api import Locator, expect

from nbtrain.panel.live.panel import Panel
from tests.gate import eventually
from tests.page.bare import BarePage
from tests.panels import FakeRun


def shown(page: BarePage, run: FakeRun) -> Locator:
    """The panel of a run that has recorded what it records."""
    widget = Panel(run)
    panel = page.show(widget).locator(".nbt")

    def arrived() -> bool:
        widget.tick()
        return panel.get_attribute("data-phase") == str(run.status.phase)

    eventually(arrived)
    expect(panel.locator(".uplot").first).to_be_visible()
    return panel
