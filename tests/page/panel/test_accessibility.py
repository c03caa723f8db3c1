"""The panel for a reader who hears it, has no pointer, or has chosen other colours or sizes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nbtrain.core.states import Phase
from tests.page.axe import as_in_jupyterlab, check
from tests.page.bare import BarePage
from tests.page.panel.asked import ask
from tests.page.panel.steered import SteeredPanel


@pytest.fixture
def panel(page: BarePage, own_folder: Path) -> Iterator[SteeredPanel]:
    """The panel of a run that was steered."""
    panel = SteeredPanel(page, own_folder / "lively")
    yield panel
    panel.run.close()


def test_no_state_of_a_panel_breaks_a_rule_of_axe(page: BarePage, panel: SteeredPanel) -> None:
    press = page.page.keyboard.press
    panel.run.answer(applied=False)
    panel.run.compare()
    panel.update(phase=Phase.PAUSED, message="loss is NaN", notice="continued from ckpt-50")
    check(page)
    as_in_jupyterlab(page)
    ask(panel.root, "save")
    check(page)
    press("Escape")
    panel.root.get_by_role("button", name="Try…").click()
    check(page)
    press("Escape")
    panel.run.answer(applied=True)
    panel.update(phase=Phase.FAILED, error="ValueError: no", failure="ValueError: no")
    check(page)
    panel.update(phase=Phase.FINISHED, error=None, failure=None, message=None)
    check(page)
    panel.update(phase=Phase.RUNNING)
    check(page)


def test_phase_receipts_and_warnings_are_announced(page: BarePage, panel: SteeredPanel) -> None:
    live = "e => (window.live = [...e.querySelectorAll('[role=status]')])"
    panel.root.evaluate(f"{live}.filter(e => e.checkVisibility())")
    panel.run.answer(applied=False)
    panel.update(phase=Phase.PAUSED, message="loss is NaN", notice="continued from ckpt-50")
    said = page.page.evaluate("live.map(e => e.textContent)")
    for text in ("❚❚ paused", "✕ save: disk full", "loss is NaN", "continued from ckpt-50"):
        assert any(each.startswith(text) for each in said), (text, said)
