"""Ended runs and closed boards leave their pictures, and nothing in the kernel."""

from __future__ import annotations

import gc
import math
import threading
import time
import weakref
from base64 import b64decode
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from comm import get_comm_manager
from ipywidgets.widgets import widget

import nbtrain
from nbtrain.notebook import boards, display, still
from nbtrain.panel import figure
from nbtrain.panel.board import picture
from nbtrain.steer import registry
from nbtrain.terminal import script
from tests.gate import SOON, Gate
from tests.models import Counter
from tests.shells import Outputs, own_shell
from tests.training.boards import hear, run_of


def held() -> tuple[set[str], set[str], set[str]]:
    """The widgets, comms, and threads that there are."""
    gc.collect()
    threads = {thread.name for thread in threading.enumerate() if "nbtrain" in thread.name}
    return set(widget._instances), set(get_comm_manager().comms), threads


def more_than(
    before: tuple[set[str], set[str], set[str]],
) -> tuple[set[str], set[str], set[str]]:
    """Returns the objects that exist now and did not before."""
    widgets, comms, threads = (now - then for now, then in zip(held(), before, strict=True))
    return widgets, comms, threads


def test_shown_runs_leave_no_widget_no_comm_no_thread_and_no_listener(
    capsys: pytest.CaptureFixture[str],
) -> None:
    script.register()  # as the first run of a process does, once
    before = held()
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
        run.attempt.monitor_threads.join(SOON)
    assert more_than(before) == (set(), set(), set())
    assert [run.attempt.context.monitor.listeners for run in shown] == 5 * [[]]
    # Not of a test before: the newest panels of ended runs stay live.
    assert not {run.name for run in shown} & display._displays.keys()


def test_a_run_that_ended_can_be_explored_until_another_of_its_name_is_shown() -> None:
    before = held()
    for _ in range(3):
        run = nbtrain.train(lambda: {"loss": 1.0}, steps=2, name="explored").wait(SOON)
        run.attempt.monitor_threads.join(SOON)
        display.show_panel(run)
        assert len(held()[0] - before[0]) == 1
    display.display_of(run).close()
    assert more_than(before) == (set(), set(), set())
    assert run.attempt.context.monitor.listeners == []


def test_the_panel_of_an_ended_run_keeps_no_model_and_still_takes_notes() -> None:
    counter = Counter()
    model = weakref.ref(counter)
    run = nbtrain.train(counter.step, steps=2, name="explored").wait(SOON)
    run.attempt.monitor_threads.join(SOON)
    display.show_panel(run)
    shown = display.display_of(run)
    nbtrain.train(dict, steps=2, name="next").wait(SOON)  # the last run is kept longer
    registry.runs.clear()
    del run, counter
    gc.collect()
    assert model() is None
    sent: list[Any] = []
    shown.panel.send = lambda content, *_: sent.append(content)
    hear(shown.panel, t="hello")
    assert (sent[0]["status"]["phase"], sent[0]["status"]["step"]) == ("finished", 2)
    hear(shown.panel, t="cmd", command="note", id="1", text="the best so far")
    assert sent[-1]["status"]["receipts"][-1]["text"] == "the best so far (step 2)"
    hear(shown.panel, t="cmd", command="save", id="2")
    assert sent[-1]["status"]["receipts"][-1]["text"] == "the run has ended (step 2)"
    shown.close()


def test_only_the_newest_panels_of_ended_runs_stay_live(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display, "_KEPT", 2)
    before = held()
    for number in range(4):
        run = nbtrain.train(lambda: {"loss": 1.0}, steps=2, name=f"n{number}").wait(SOON)
        display.show_panel(run)
    assert list(display._displays) == ["n2", "n3"]
    for shown in list(display._displays.values()):
        shown.close()
    assert more_than(before)[0] == set()


def test_a_run_that_starts_again_continues_in_its_panel() -> None:
    counter = Counter()
    run = nbtrain.train(counter.step, steps=2, name="again").wait(SOON)
    run.attempt.monitor_threads.join(SOON)
    display.show_panel(run)
    panel = display.display_of(run).panel
    hear(panel, t="hello")
    sent: list[Any] = []
    panel.send = lambda content, *_: sent.append(content)
    run.start()
    assert display.display_of(run).panel is panel
    run.wait(SOON)
    assert sent[-1]["status"]["phase"] == "finished"
    display.display_of(run).close()


def first_words(outputs: Outputs) -> str:
    """Returns the words below the widget that was shown first."""
    words = [data for name, data in outputs.shown.items() if name.endswith("-words")]
    return str(words[0]["text/html"])


@pytest.fixture
def outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Outputs]:
    """Returns the output of a notebook without a board."""
    monkeypatch.setattr(boards, "_boards", deque())
    with own_shell(tmp_path / "ipython") as shell:
        shell.display_pub = Outputs(shell)
        yield shell.display_pub
        while boards._boards:
            boards._boards.popleft().close()


def test_only_the_newest_boards_are_live_and_older_ones_leave_nothing(
    tmp_path: Path, outputs: Outputs
) -> None:
    before = held()
    for _ in range(50):
        boards.show(nbtrain.scalars(tmp_path), follow=True)
    widgets, comms, _ = held()
    assert len(widgets - before[0]) == len(comms - before[1]) == 32
    while boards._boards:
        boards._boards.popleft().close()
    for thread in threading.enumerate():
        if thread.name == "nbtrain board":
            thread.join(SOON)
    assert more_than(before) == (set(), set(), set())


def test_a_board_that_cannot_be_drawn_is_told_in_its_own_cell_when_it_is_closed(
    tmp_path: Path, outputs: Outputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> bytes:
        raise ValueError("no font")

    monkeypatch.setattr(picture, "png", fail)
    boards.show(nbtrain.scalars(tmp_path), text="board")
    monkeypatch.setattr(picture, "png", lambda *_, **__: None)
    for _ in range(31):
        boards.show(nbtrain.scalars(tmp_path), text="board")
    monkeypatch.setattr(picture, "png", fail)
    boards.show(nbtrain.scalars(tmp_path), text="board")
    assert "The picture cannot be drawn: ValueError: no font" in first_words(outputs)


def test_the_picture_of_a_board_comes_after_the_answers_of_an_open_page(
    tmp_path: Path, outputs: Outputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def picture() -> bytes:
        (found,) = [data for name, data in outputs.shown.items() if name.endswith("-picture")]
        return b64decode(found["image/png"])

    run_of(tmp_path, [1.0, 2.0])
    monkeypatch.setattr(boards.Following, "start", lambda _: None)  # the test makes its ticks
    monkeypatch.setattr(boards, "FIRST_SECS", 0.0)
    monkeypatch.setattr(boards, "QUIET_SECS", math.inf)
    scalars, unread = boards.opened(str(tmp_path))
    boards.show(scalars, unread=unread)
    following = boards._boards[0]
    hear(following.board, t="hello")
    assert following._tick(), "the page is asking for its curves"
    assert len(scalars) == 1
    assert len(picture()) < 100, "one pixel"
    monkeypatch.setattr(boards, "QUIET_SECS", 0.0)
    assert not following._tick()
    assert len(picture()) > 1000


def test_a_cell_waits_for_an_open_page_only_with_many_runs(
    tmp_path: Path, outputs: Outputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    thread, sleep = threading.get_ident(), time.sleep

    def note(secs: float) -> None:
        if threading.get_ident() == thread:
            waited.append(secs)
        else:  # such as one that ends an iterator of a test before
            sleep(secs)

    monkeypatch.setattr(boards, "QUIET_SECS", math.inf)
    monkeypatch.setattr(boards, "ANSWER_SECS", 0.05)
    monkeypatch.setattr("time.sleep", note)
    run_of(tmp_path / "a", [1.0])
    boards.show(nbtrain.scalars(tmp_path))
    assert waited == [still.SENDING_SECS]
    monkeypatch.setattr(boards, "MANY", 1)
    boards.show(nbtrain.scalars(tmp_path))
    assert len(waited) > 2


def test_a_created_run_that_is_shown_hinders_no_other_at_the_end_of_a_cell(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled: list[still.Still] = []
    created = nbtrain.train(Counter().step, steps=2, name="created", start=False)
    display.show(created)
    running = nbtrain.train(Counter(gate).step, steps=2, name="running")
    display.show(running)
    monkeypatch.setattr(still.Still, "redraw", lambda shown: settled.append(shown))
    display.redraw()
    assert settled == [display.display_of(running)._still]
    gate.open()
    running.wait(SOON)
    created.start().wait(SOON)


def test_a_run_that_cannot_be_drawn_is_told_in_its_own_cell_when_another_takes_its_place(
    outputs: Outputs, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> bytes:
        raise ValueError("no font")

    first = nbtrain.train(lambda: {"loss": 1.0}, steps=2, name="explored").wait(SOON)
    first.attempt.monitor_threads.join(SOON)
    display.show_panel(first)
    first.note("changes the picture")
    second = nbtrain.train(Counter(gate).step, steps=2, name="explored")
    gate.wait_for_arrivals()
    with monkeypatch.context() as patch:
        patch.setattr(figure, "png", fail)
        display.show(second)
        display.redraw()
    assert "The picture cannot be drawn: ValueError: no font" in first_words(outputs)
    assert second.status.message == "The picture cannot be drawn: ValueError: no font"
    display.redraw()
    assert second.status.message is None
    gate.open()
    second.wait(SOON)
    second.attempt.monitor_threads.join(SOON)


def test_a_board_without_an_available_thread_is_read_at_a_later_look(
    tmp_path: Path, outputs: Outputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    run_of(tmp_path, [1.0])
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        boards.show(nbtrain.scalars(tmp_path), follow=True)
    (following,) = boards._boards
    assert following._thread is None
    following.start()
    assert following._thread is not None
