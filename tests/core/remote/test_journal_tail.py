"""A journal that grows is read line by line into marks, as a run reads its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nbtrain.rundir.folder import Logdir
from nbtrain.rundir.journal import Journal, JournalTail, Marks

LINES: list[dict[str, Any]] = [
    {"event": "start", "step": 0, "name": "x"},
    {"event": "segment", "step": 0, "values": {}},
    {"event": "save", "step": 100, "text": "ckpt-100", "checkpoint": "checkpoints/ckpt-100"},
    {"event": "set", "step": 150, "applied": True, "edits": {"rate": [1.0, 2.0]}},
    {"event": "set", "step": 160, "applied": False, "text": "no"},
    {"event": "back", "step": 200, "to": 100, "checkpoint": "checkpoints/ckpt-100"},
    {"event": "restore", "step": 200, "to": 100, "text": "from ckpt-100"},
    {"event": "segment", "step": 100, "values": {}},
    {"event": "pause", "step": 120},
]


@pytest.fixture
def marks() -> Marks:
    return Marks()


@pytest.fixture
def tail(tmp_path: Path, marks: Marks) -> JournalTail:
    return JournalTail(tmp_path, marks)


def write(folder: Path, text: str, mode: str = "a") -> None:
    with open(folder / "steering.jsonl", mode, encoding="utf-8") as file:
        file.write(text)


def as_text(lines: list[dict[str, Any]], wall_time: float = 1.0) -> str:
    return "".join(json.dumps({"wall_time": wall_time, **line}) + "\n" for line in lines)


def rows(marks: Marks) -> list[tuple[str, int, float, bool]]:
    return [(mark.event, mark.step, mark.order, mark.abandoned) for mark in marks]


def test_lines_become_the_marks_of_the_run_however_they_come(
    tmp_path: Path, tail: JournalTail, marks: Marks
) -> None:
    text = as_text(LINES)
    for begin in range(0, len(text), 37):
        write(tmp_path, text[begin : begin + 37])
        assert not tail.poll()
    own = Marks()
    Journal(Logdir(tmp_path, None, kind="x"), own).recall()
    own_timeline = [(mark.event, mark.step) for mark in own]
    assert [(mark.event, mark.step) for mark in marks] == own_timeline
    assert rows(marks) == [
        ("save", 100, 1.0, False),
        ("set", 150, 1.5, True),
        ("restore", 200, 2.0, False),
        ("pause", 120, 2.0, False),
    ]
    assert marks.timeline.begins == [100]


def test_an_incomplete_line_waits_for_its_end(
    tmp_path: Path, tail: JournalTail, marks: Marks
) -> None:
    text = as_text(LINES[:3])
    write(tmp_path, text[:-9])
    tail.poll()
    assert len(marks) == 0
    write(tmp_path, text[-9:])
    tail.poll()
    assert [mark.event for mark in marks] == ["save"]


def test_a_damaged_line_is_left_out(tmp_path: Path, tail: JournalTail, marks: Marks) -> None:
    write(tmp_path, '{"event": "save"\n\n[1]\n' + as_text(LINES[2:4]))
    tail.poll()
    assert [mark.event for mark in marks] == ["save", "set"]


def test_a_journal_that_is_not_there_yet_or_any_more_is_no_error(
    tmp_path: Path, tail: JournalTail, marks: Marks
) -> None:
    assert not tail.poll()
    write(tmp_path, as_text(LINES))
    assert not tail.poll()
    (tmp_path / "steering.jsonl").unlink()
    assert not tail.poll()
    assert len(marks) == 4


@pytest.mark.parametrize("many", [1, 20])
def test_the_journal_of_another_run_replaces_what_was_read(
    tmp_path: Path, tail: JournalTail, marks: Marks, many: int
) -> None:
    write(tmp_path, as_text(LINES))
    tail.poll()
    write(tmp_path, as_text([{"event": "pause", "step": 7}] * many, wall_time=2.0), "w")
    assert tail.poll()
    assert [(mark.event, mark.step) for mark in marks] == [("pause", 7)] * many
    assert marks.timeline.begins == []


def test_a_journal_that_was_moved_and_moved_back_is_the_same(
    tmp_path: Path, tail: JournalTail, marks: Marks
) -> None:
    write(tmp_path, as_text(LINES))
    tail.poll()
    copy = (tmp_path / "steering.jsonl").read_bytes()
    (tmp_path / "steering.jsonl").unlink()
    (tmp_path / "steering.jsonl").write_bytes(copy)
    write(tmp_path, as_text([{"event": "resume", "step": 130}]))
    assert not tail.poll()
    assert [mark.event for mark in marks][-2:] == ["pause", "resume"]
