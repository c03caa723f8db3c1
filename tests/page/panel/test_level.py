"""A page that is open for long holds no more than at first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.page.bare import BarePage
from tests.page.panel.opened import OpenedPanel

PICTURES = 21  # of each tag; a histogram is drawn over the twenty before it
NOISE = 20  # nodes and listeners that come and go; a leak leaves one for each of 21 pictures


@pytest.fixture
def opened(page: BarePage, own_folder: Path) -> Iterator[OpenedPanel]:
    """A panel with every section open."""
    panel = OpenedPanel(page, own_folder / "lively")
    yield panel
    panel.run.close()


def test_updates_and_pictures_leave_no_nodes_listeners_or_blobs_behind(
    opened: OpenedPanel,
) -> None:
    for _ in range(PICTURES):
        opened.pass_second(pictures=True)
    before = opened.held()
    for second in range(2 * PICTURES):
        opened.pass_second(pictures=second % 2 == 0)
    after = opened.held()
    assert after.nodes <= before.nodes + NOISE
    assert after.listeners <= before.listeners + NOISE
    assert after.blobs == before.blobs
    assert after.canvases == before.canvases
