"""The journal of a run: the marks that it keeps, and how its file is read."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtrain.core.states import Checkpoint
from nbtrain.notebook.run_tree import RunFolder
from nbtrain.rundir.entries import FILE, entries
from nbtrain.rundir.folder import Logdir
from nbtrain.rundir.journal import MOST_MARKS, Journal, Mark, Marks
from nbtrain.rundir.timeline import RunTimeline
from nbtrain.steer.replay import ReplayPlan

ENTRY = {"event": "set", "step": 120, "wall_time": 5.0, "applied": True, "text": "rate 2 → 1"}


def test_a_mark_has_the_fields_of_its_entry() -> None:
    edits = {"rate": [2.0, 1.0]}
    mark = Mark.of({**ENTRY, "edits": edits, "to": 100})
    assert mark == Mark("set", 120, 5.0, "rate 2 → 1", 100, (("rate", 2.0, 1.0),))
    assert Mark.of({"event": "try", "step": 9, "kept": False}) == Mark("try", 9, 0.0, kept=False)
    entry = {"event": "nan", "step": 9, "good": 0, "why_nan": True}
    assert Mark.of(entry) == Mark("nan", 9, 0.0, good=0, why_nan=True)
    assert Mark.of({"event": "nan", "step": 9, "good": True, "kept": 1}) == Mark("nan", 9, 0.0)


@pytest.mark.parametrize(
    "changed", [{"applied": False}, {"event": "start"}, {"event": "segment"}, {"event": "origin"}]
)
def test_refusals_and_other_entries_make_no_marks(changed: dict[str, object]) -> None:
    assert Mark.of(ENTRY | changed) is None


def test_a_reader_gets_each_mark_once() -> None:
    marks = Marks()
    first, second = Mark("save", 1, 1.0), Mark("save", 2, 2.0)
    marks.add(first)
    new, seen = marks.since()
    assert new == [first]
    marks.add(second)
    assert marks.since(seen) == ([second], 2)
    assert marks.since(2) == ([], 2)


def test_only_the_newest_marks_are_held() -> None:
    marks = Marks()
    for step in range(MOST_MARKS + 10):
        marks.add(Mark("save", step, 0.0))
    assert [mark.step for mark in marks][::999] == [10, 1009]
    assert marks.since(MOST_MARKS)[0] == list(marks)[-10:]
    assert len(marks.since(3)[0]) == len(marks)


def test_torn_lines_are_left_out(tmp_path: Path) -> None:
    lines = ['{"event": "save", "step": 1}', '{"event": "sa', "[1]", '{"step": 2}', "\xff\x00"]
    (tmp_path / "steering.jsonl").write_text("\n".join(lines), encoding="latin-1")
    assert [entry["step"] for entry in entries(tmp_path)] == [1]


def test_marks_dropped_before_they_were_read_are_counted() -> None:
    journal = Journal(Logdir(None, "kept", kind="train"), Marks())
    for step in range(MOST_MARKS + 2):
        journal.log(event="save", step=step, text="saved")
    assert journal.untold == 2
    assert [mark.step for mark in journal.done(ended=False)] == [*range(2, MOST_MARKS + 2)]


# --- earlier starts -------------------------------------------------------------------


def written(tmp_path: Path) -> Journal:
    """The journal of a new process for a folder where a run has trained."""
    folder = Logdir(tmp_path, None, kind="train")
    for event, step in (("start", 0), ("save", 10), ("back", 10), ("restore", 20), ("stopped", 30)):
        folder.log(event=event, step=step, wall_time=1.0, checkpoint=f"checkpoints/ckpt-{step}")
    return Journal(folder, Marks())


def events(journal: Journal) -> list[str]:
    return [mark.event for mark in journal._marks]


@pytest.mark.parametrize("is_written", [True, False])
def test_marks_of_earlier_starts_come_before_those_of_a_failed_one(
    tmp_path: Path, *, is_written: bool
) -> None:
    journal = written(tmp_path)
    journal.log(event="failed", step=0)
    if is_written:
        journal.write()
    journal.recall()
    assert events(journal) == ["save", "restore", "failed"]
    assert journal._marks.count == 3
    journal.recall()
    assert events(journal) == ["save", "restore", "failed"], "they are read once"


def test_a_run_that_does_not_go_on_never_gets_the_marks_of_earlier_starts(tmp_path: Path) -> None:
    journal = written(tmp_path)
    journal.log(event="pause", step=0)
    journal.recall(goes_on=False)
    journal.recall()
    assert events(journal) == ["pause"]


def test_marks_stay_if_the_file_cannot_be_read(tmp_path: Path) -> None:
    journal = written(tmp_path)
    journal.log(event="pause", step=0)
    (tmp_path / FILE).unlink()
    journal.recall()
    assert events(journal) == ["pause"]


def test_a_checkpoint_that_a_later_start_finds_has_a_mark(tmp_path: Path) -> None:
    journal = written(tmp_path)
    journal.log(event="found", step=40, checkpoint=tmp_path / "checkpoints" / "ckpt-40")
    journal.recall()
    journal.log(event="found", step=50, checkpoint=tmp_path / "checkpoints" / "ckpt-50")
    assert [mark.text for mark in journal._marks][-2:] == ["ckpt-40", "ckpt-50"]


def test_the_timeline_of_earlier_starts_is_read_though_this_one_has_begun(tmp_path: Path) -> None:
    journal = written(tmp_path)
    journal.log(event="back", step=1)
    journal.log(event="segment", step=1)
    journal.write()
    lines, _ = journal.read()
    journal.begin_timeline(lines)
    assert journal.timeline.knows(Checkpoint(10, "checkpoints/ckpt-10", 0.0))
    timeline = journal.timeline
    journal.begin_timeline(lines)
    assert journal.timeline is timeline


# --- lines that nobody wrote ----------------------------------------------------------

WHOLE: list[dict[str, Any]] = [
    {"event": "start", "step": 0, "name": "a", "total_steps": 9, "wall_time": 1.0}
    | {"parent": {"logdir": "../b", "checkpoint": "ckpt-1", "step": 1}},
    {"event": "origin", "step": 0, "checkpoint": "../b/checkpoints/ckpt-1", "lines": 3},
    {"event": "segment", "step": 0, "values": {"rate": 0.5}},
    {"event": "copy", "step": 0, "checkpoint": "checkpoints/last_good/ckpt-0"},
    {"event": "set", "step": 2, "applied": True, "edits": {"rate": [0.5, 0.25]}, "text": "rate"},
    {"event": "save", "step": 3, "applied": True, "text": "saved ckpt-3"},
    {"event": "try", "step": 4, "kept": False, "to": 3},
    {"event": "nan", "step": 5, "good": None},
    {"event": "back", "step": 3, "checkpoint": "checkpoints/ckpt-3"},
    {"event": "restore", "step": 5, "to": 3},
]
ODD = [
    *(None, True, -1, 1.5, 10**400, 2**63, float("nan"), float("inf")),
    *("", "x", "\0", "\ud800", "/" * 5000, [], [1], {}, {"": 1}, {"rate": [10**400, "x"]}),
]
JSON = st.recursive(
    st.sampled_from(ODD) | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["rate", "step", "logdir", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)
RAW = [b"[" * 100_000, b"\xff\x00\n\n", b"1" * 10_000, b"{}", b"null", b'"x"', b"[]"]


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A changed line: in its fields, cut, or replaced."""
    entry = dict(draw(st.sampled_from(WHOLE)))
    for _ in range(draw(st.integers(0, 2))):
        entry[draw(st.sampled_from([*entry, "to", "good", "text", "edits"]))] = draw(JSON)
    if draw(st.booleans()):
        entry.pop(draw(st.sampled_from(sorted(entry))))
    line = json.dumps(entry).encode()
    return draw(st.sampled_from([line, line, line[: len(line) // 2], *RAW]))


@settings(max_examples=300)
@given(st.lists(mutated(), max_size=4), st.integers(0, len(WHOLE)))
def test_readers_of_the_journal_survive_any_changed_line(lines: list[bytes], place: int) -> None:
    written = [json.dumps(each).encode() for each in WHOLE]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = b"\n".join([*written[:place], *lines, *written[place:]])
        (folder / FILE).write_bytes(text)
        journal = Journal(Logdir(folder, None, kind="train"), Marks())
        found, _ = journal.read()
        RunTimeline(folder, found).ordered([Checkpoint(3, "checkpoints/ckpt-3", 0.0)])
        journal.recall()
        for mark in journal._marks:
            str(mark).encode()
        repr(ReplayPlan(folder)).encode()
        str(RunFolder.read(folder)).encode()


@pytest.mark.parametrize(
    "line",
    [
        b'{"event": [], "step": 1}',
        b'{"event": "save", "step": 1, "wall_time": ' + b"9" * 400 + b"}",
        b'{"event": "save", "step": 1, "wall_time": "now"}',
        b'{"event": "save", "step": true}',
        b'{"event": "restore", "step": 1, "to": "2"}',
        b'{"event": "set", "step": 1, "edits": [1]}',
        b'{"event": "origin", "step": 1, "checkpoint": "a\\u0000b"}',
        b'{"event": "sav',
        b"[" * 100_000,
        b"\xff\x00",
    ],
)
def test_a_line_that_is_left_out_is_named(line: bytes, tmp_path: Path) -> None:
    whole = b'{"event": "save", "step": 1}'
    (tmp_path / FILE).write_bytes(b"\n".join([whole, line, b"", whole, b""]))
    found, text = Journal(Logdir(tmp_path, None, kind="train"), Marks()).read()
    assert len(found) == 2
    assert text == f"Line 2 of {tmp_path / FILE} cannot be read and is left out."


def test_only_the_first_of_many_lines_are_named(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("x\n" * 8, encoding="utf-8")
    found, text = Journal(Logdir(tmp_path, None, kind="train"), Marks()).read()
    assert found == []
    assert str(text).startswith("Lines 1, 2, 3, 4, 5 and 3 more of ")


def test_a_folder_without_a_journal_has_no_lines(tmp_path: Path) -> None:
    assert Journal(Logdir(tmp_path, None, kind="train"), Marks()).read() == ([], None)
