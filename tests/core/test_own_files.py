"""Files of a run's folder that lead elsewhere, have no end or never answer are not opened."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable
from pathlib import Path

import pytest

from nbtrain.core import own_files
from nbtrain.core.errors import ArgumentError
from nbtrain.core.own_files import LONGEST_LINE, NotOwnError
from nbtrain.core.text.log_lines import LogLine
from nbtrain.logdir.event_run import EventRun
from nbtrain.logdir.last_step import last_step
from nbtrain.run.outside.mirror_files import snapshot
from nbtrain.rundir import files, lock, log_file, mailbox, status_file
from nbtrain.rundir.entries import entries
from nbtrain.rundir.files import Untrusted
from nbtrain.rundir.folder import Logdir
from nbtrain.rundir.journal import JournalTail, Marks
from nbtrain.rundir.log_file import LogTail, append
from nbtrain.rundir.mailbox import Mailbox, make
from nbtrain.rundir.timeline import RunTimeline

SECRET = '{"event": "note", "step": 1, "text": "secret"}\n'
EVENTS = "events.out.tfevents.1.lab.1.0.nbtrain"


def link(path: Path) -> None:
    """A link to a file of the user, which is outside of the folder."""
    path.symlink_to(secret(path))


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.mkdir()


def secret(path: Path) -> Path:
    found = path.parent.parent / "secret"
    found.write_text(SECRET)
    return found


HOSTILE = pytest.mark.parametrize("make", [link, endless, pipe, folder])


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The folder of a run."""
    made = tmp_path / "run"
    made.mkdir()
    return made


READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "journal": ("steering.jsonl", lambda run: list(entries(run))),
    "journal as it grows": ("steering.jsonl", lambda run: JournalTail(run, Marks()).poll()),
    "status": ("status.json", status_file.read),
    "log as it grows": ("log.txt", lambda run: LogTail(run / "log.txt").poll()),
    "answer": ("answers/a1.json", lambda run: files.read(run / "answers/a1.json")),
}


@HOSTILE
@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_file_of_the_folder_is_not_read(
    run: Path, reader: str, make: Callable[[Path], None]
) -> None:
    name, read = READERS[reader]
    (run / name).parent.mkdir(exist_ok=True)
    make(run / name)
    with pytest.raises((NotOwnError, Untrusted), match=r"link|not a file|directory"):
        read(run)


@HOSTILE
def test_the_end_of_such_a_log_is_none(run: Path, make: Callable[[Path], None]) -> None:
    make(run / "log.txt")
    assert log_file.last_lines(run / "log.txt") is None


@HOSTILE
def test_such_a_journal_is_an_empty_timeline(run: Path, make: Callable[[Path], None]) -> None:
    make(run / "steering.jsonl")
    assert RunTimeline.of(run).order == 0


@HOSTILE
def test_such_an_event_file_is_told_and_not_read(run: Path, make: Callable[[Path], None]) -> None:
    make(run / EVENTS)
    events = EventRun(str(run))
    events.scan([EVENTS])
    assert list(events.read()) == []
    assert list(events.unreadable) == [f"{run}/{EVENTS}"]
    assert last_step(run) == 0


@HOSTILE
def test_such_a_file_is_not_copied_to_a_mirror(run: Path, make: Callable[[Path], None]) -> None:
    for name in ("steering.jsonl", "checkpoint", EVENTS, "ckpt-1.index"):
        make(run / name)
    assert not snapshot(run).files


@pytest.mark.parametrize("make", [link, endless, pipe])
def test_nothing_is_written_to_what_is_no_file_of_the_folder(
    run: Path, make: Callable[[Path], None]
) -> None:
    for name in ("steering.jsonl", "log.txt", "run.lock"):
        make(run / name)
    with pytest.raises(NotOwnError):
        append(run / "log.txt", [LogLine(1.0, 1, "INFO", "print", "a line")])
    with pytest.raises(NotOwnError):
        Logdir(run, None, kind="run").log(event="note", step=1)
    assert not lock.is_locked(run)
    with pytest.raises(ArgumentError, match=r"link|not a file"):
        Logdir(run, None, kind="run").acquire()
    assert secret(run / "log.txt").read_text() == SECRET


def test_the_name_of_the_run_replaces_a_link(run: Path) -> None:
    link(run / "run.json")
    taken = Logdir(run, None, kind="run")
    taken.acquire()
    assert json.loads((run / "run.json").read_text())["name"] == "run"
    taken.release()
    assert (run.parent / "secret").read_text() == SECRET


def test_a_mailbox_that_is_a_link_steers_no_other_run(run: Path, tmp_path: Path) -> None:
    other = Mailbox(tmp_path / "other", "now")
    (tmp_path / "other").mkdir()
    other.open()
    (run / "mailbox").symlink_to(tmp_path / "other" / "mailbox")
    for act in (
        lambda: mailbox.send(run, "a1", {"command": "stop"}),
        lambda: mailbox.answer_to(run, "a1"),
        lambda: make(run),
        lambda: Mailbox(run, "now").open(),
    ):
        with pytest.raises(OSError, match="symbolic link"):
            act()
    mailbox.send(tmp_path / "other", "a1", {"command": "stop"})
    assert not mailbox.withdraw(run, "a1")
    assert len(other.receive()) == 1


def test_a_line_without_an_end_takes_no_more_memory_than_the_longest(run: Path) -> None:
    line = '{"event": "note", "step": 2}\n'
    with open(run / "steering.jsonl", "wb") as file:
        file.truncate(20 * LONGEST_LINE)  # zeros
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + line.encode())
    unread: list[int] = []
    assert [entry["step"] for entry in entries(run, unread)] == [2]
    assert unread == [1]
    tail = JournalTail(run, marks := Marks())
    tail.poll()
    assert [mark.step for mark in marks] == [2]
    with own_files.opened(run / "steering.jsonl") as file:
        assert [len(each) for each in own_files.lines(file)] == [LONGEST_LINE, len(line)]
    with own_files.opened(run / "steering.jsonl") as file:
        assert sum(1 for _ in own_files.lines(file, LONGEST_LINE)) == 1


def test_a_log_without_line_ends_keeps_its_present_line_short(run: Path) -> None:
    log, tail = run / "log.txt", LogTail(run / "log.txt")
    for _ in range(5):
        with open(log, "ab") as file:
            file.write(b"." * LONGEST_LINE)
        assert tail.poll() == []
    with open(log, "ab") as file:
        file.write(b"\nthe next\n")
    told = deque(line.text for line in tail.poll())
    assert len(told[0]) == LONGEST_LINE
    assert told[1] == "the next"
