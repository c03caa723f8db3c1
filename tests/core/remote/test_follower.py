"""The status file of another process, as a share shows it: late, in parts, and not for a moment."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from nbtrain.core.states import Phase, Status
from nbtrain.remote import attach
from nbtrain.remote.follower import StatusTail
from nbtrain.rundir import mailbox, status_file
from nbtrain.rundir.status_file import FILE, SignOfLife, Writer
from tests.gate import SOON


class Notes:
    """The messages of a tail, by topic."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def __call__(self, _topic: str, text: str | None) -> None:
        if text is not None:
            self.said.append(text)


@pytest.fixture
def notes() -> Notes:
    return Notes()


def write(folder: Path, step: int) -> bytes:
    """Write a sign of life; returns the contents of the file."""
    status = Status(name="far", engine="script", phase=Phase.RUNNING, step=step)
    status_file.write(folder, SignOfLife(Writer("a1", "here", 1, 0.0), float(step), status))
    return (folder / FILE).read_bytes()


def steps(tail: StatusTail, times: int = 1) -> list[int]:
    """The steps of the signs of life that so many looks find."""
    return [sign.status.step for sign in (tail.poll() for _ in range(times)) if sign is not None]


def test_a_status_that_is_away_for_a_moment_or_shown_in_part_is_waited_for(
    tmp_path: Path, notes: Notes
) -> None:
    tail = StatusTail(tmp_path, notes)
    assert steps(tail) == [], "it is not there yet"
    whole = write(tmp_path, 1)
    assert steps(tail, 2) == [1]
    for length in (0, 1, len(whole) // 2, len(whole) - 2):
        (tmp_path / FILE).write_bytes(whole[:length])
        assert steps(tail, 2) == []
    (tmp_path / FILE).unlink()  # as between the two halves of a rename
    assert steps(tail, 3) == []
    write(tmp_path, 2)
    assert steps(tail, 2) == [2]
    assert notes.said == []


def test_a_status_that_stays_a_part_is_said(tmp_path: Path, notes: Notes) -> None:
    tail = StatusTail(tmp_path, notes)
    (tmp_path / FILE).write_text('{"nbtrain": 1, ')
    assert steps(tail, 20) == []
    assert f"{FILE} cannot be used: it is not JSON" in notes.said[-1]


def test_a_status_that_is_none_is_said_at_once(tmp_path: Path, notes: Notes) -> None:
    tail = StatusTail(tmp_path, notes)
    (tmp_path / FILE).write_text('{"nbtrain": 1}')
    assert steps(tail) == []
    assert "cannot be used: it is not the status of a run" in notes.said[0]


def test_a_run_whose_status_is_seen_late_and_in_parts_can_be_attached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attach, "_STARTING_SECS", SOON)
    mailbox.make(tmp_path)
    whole = write(tmp_path, 7)
    (tmp_path / FILE).unlink()

    def show() -> None:
        for length in (0, len(whole) // 2, len(whole)):
            threading.Event().wait(0.1)  # so that parts are seen
            (tmp_path / FILE).write_bytes(whole[:length])

    share = threading.Thread(target=show)
    share.start()
    with attach.opened(tmp_path) as run:
        assert run.status.step == 7
    share.join()
