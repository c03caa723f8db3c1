"""The journal of a run: what it keeps to be seen, and what can be read of its file."""

from __future__ import annotations

from pathlib import Path

import pytest

from nbtrain.folder.entries import entries
from nbtrain.folder.journal import MOST_MARKS, Journal, Mark, Marks
from nbtrain.folder.logdir import Logdir

ENTRY = {"event": "set", "step": 120, "wall_time": 5.0, "applied": True, "text": "rate 2 → 1"}


def test_a_mark_has_what_the_entry_says() -> None:
    edits = {"rate": [2.0, 1.0]}
    mark = Mark.of({**ENTRY, "edits": edits, "to": 100})
    assert mark == Mark("set", 120, 5.0, "rate 2 → 1", 100, (("rate", 2.0, 1.0),))
    assert Mark.of({"event": "try", "step": 9, "kept": False}) == Mark("try", 9, 0.0, kept=False)
    assert Mark.of({"event": "nan", "step": 9, "good": 0}) == Mark("nan", 9, 0.0, good=0)
    assert Mark.of({"event": "nan", "step": 9, "good": True, "kept": 1}) == Mark("nan", 9, 0.0)


@pytest.mark.parametrize(
    "changed", [{"applied": False}, {"event": "start"}, {"event": "segment"}, {"event": "origin"}]
)
def test_what_was_refused_and_what_is_no_mark_gives_none(changed: dict[str, object]) -> None:
    assert Mark.of(ENTRY | changed) is None


def test_a_reader_of_marks_gets_each_once() -> None:
    marks = Marks()
    first, second = Mark("save", 1, 1.0), Mark("save", 2, 2.0)
    marks.add(first)
    new, seen = marks.since()
    assert new == [first]
    marks.add(second)
    assert marks.since(seen) == ([second], 2)
    assert marks.since(2) == ([], 2)


def test_of_too_many_marks_the_newest_are_held() -> None:
    marks = Marks()
    for step in range(MOST_MARKS + 10):
        marks.add(Mark("save", step, 0.0))
    assert [mark.step for mark in marks][::999] == [10, 1009]
    assert marks.since(MOST_MARKS)[0] == list(marks)[-10:]
    assert len(marks.since(3)[0]) == len(marks)


def test_torn_lines_of_the_file_are_left_out(tmp_path: Path) -> None:
    lines = ['{"event": "save", "step": 1}', '{"event": "sa', "[1]", '{"step": 2}', "\xff\x00"]
    (tmp_path / "steering.jsonl").write_text("\n".join(lines), encoding="latin-1")
    assert [entry["step"] for entry in entries(tmp_path)] == [1]


def test_what_nobody_was_told_of_in_time_is_counted() -> None:
    journal = Journal(Logdir(None, "kept", kind="train"), Marks())
    for step in range(MOST_MARKS + 2):
        journal.log(event="save", step=step, text="saved")
    assert journal.untold == 2
    assert [mark.step for mark in journal.done(ended=False)] == [*range(2, MOST_MARKS + 2)]
