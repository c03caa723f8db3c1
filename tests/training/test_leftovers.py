"""What is left of runs and boards that were shown: their pictures, and nothing in the kernel."""

from __future__ import annotations

import gc
import threading
from collections import deque
from pathlib import Path

import pytest
from comm import get_comm_manager
from ipywidgets.widgets import widget

import nbtrain
from nbtrain import roster
from nbtrain.notebook import boards, display
from tests.gate import SOON, Gate
from tests.models import Counter
from tests.training.test_board import run_of


def held() -> tuple[set[str], set[str], set[str]]:
    """The widgets, comms, and threads that there are."""
    gc.collect()
    threads = {thread.name for thread in threading.enumerate() if "nbtrain" in thread.name}
    return set(widget._instances), set(get_comm_manager().comms), threads


def more_than(
    before: tuple[set[str], set[str], set[str]],
) -> tuple[set[str], set[str], set[str]]:
    """What there is now and was not before; of an earlier test something may have gone since."""
    widgets, comms, threads = (now - then for now, then in zip(held(), before, strict=True))
    return widgets, comms, threads


def test_shown_runs_leave_no_widget_no_comm_no_thread_and_no_listener(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before, listeners = held(), len(roster.listeners)
    gates = [Gate() for _ in range(5)]
    shown = []
    for number, gate in enumerate(gates):
        run = nbtrain.train(Counter(gate).step, steps=2, name=f"shown-{number}")
        display.show(run)
        display.show(run)  # in two cells
        shown.append(run)
    assert len(held()[0] - before[0]) == 5, "one each, while they live"
    assert "nbtrain run" in capsys.readouterr().out
    for run, gate in zip(shown, gates, strict=True):
        gate.open()
        run.wait(SOON)
        run.life.join(SOON)
    assert more_than(before) == (set(), set(), set())
    assert [run._listeners for run in shown] == 5 * [[]]
    assert len(roster.listeners) == listeners
    assert display._displays == {}


def test_a_run_that_ended_can_be_explored_until_another_of_its_name_is_shown() -> None:
    before = held()
    for _ in range(3):
        run = nbtrain.train(lambda: {"loss": 1.0}, steps=2, name="explored").wait(SOON)
        run.life.join(SOON)
        display.show_panel(run)
        assert len(held()[0] - before[0]) == 1
    display.display_of(run).close()
    assert more_than(before) == (set(), set(), set())
    assert run._listeners == []


def test_of_many_boards_the_newest_are_live_and_nothing_is_left_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(boards, "_boards", deque())
    monkeypatch.setattr(boards, "_KEPT", 2)
    run_of(tmp_path, [1.0, 2.0])
    before = held()
    for _ in range(5):
        boards.show(nbtrain.scalars(tmp_path), follow=True)
    widgets, comms, _ = held()
    assert len(widgets - before[0]) == len(comms - before[1]) == 2
    while boards._boards:
        boards._boards.popleft().close()
    for thread in threading.enumerate():
        if thread.name == "nbtrain board":
            thread.join(SOON)
    assert more_than(before) == (set(), set(), set())
