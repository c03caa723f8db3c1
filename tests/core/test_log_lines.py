"""The log of a run: the newest lines are kept, those of a file are parsed, pages ask for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from nbtrain.core.errors import ArgumentError
from nbtrain.core.text.log_lines import LogLine, LogLines, LogQueue, selected
from nbtrain.panel.live.log_wire import LINE_CHARS, MESSAGE_LINES, answer, extent
from nbtrain.rundir.log_file import LogTail, append, line_of, text_of


def lines(count: int, *, first: int = 0) -> list[LogLine]:
    """Lines of the numbers from `first` on."""
    return [LogLine(1.7e9, n, "INFO", "print", f"line {n}") for n in range(first, first + count)]


WARNED = LogLine(1.7e9, 7, "WARNING", "logging", "the rate is high")
FAILED = LogLine(1.7e9, 8, "ERROR", "tensorflow", "no Rate")


def test_the_newest_lines_are_kept_and_all_are_counted() -> None:
    log = LogLines(most=3)
    log.add([*lines(4), WARNED, FAILED])
    assert [line.step for line in log] == [3, 7, 8]
    assert (log.count, log.warnings, log.errors, len(log)) == (6, 1, 1, 3)


def test_lines_after_a_number_come_with_the_number_before_them() -> None:
    log = LogLines(most=3)
    log.add(lines(5))
    assert log.since(0) == (2, lines(3, first=2))
    assert log.since(4) == (4, lines(1, first=4))
    assert log.since(9) == (5, [])
    assert log.since(0, 2) == (2, lines(2, first=2))


def test_lines_are_selected_by_level_source_and_text_in_any_case() -> None:
    found = [*lines(2), WARNED, FAILED]
    assert selected(found, level="WARNING") == [WARNED, FAILED]
    assert selected(found, source="tensorflow") == [FAILED]
    assert selected(found, text="RATE") == [WARNED, FAILED]
    assert selected(found, level="ERROR", text="high") == []


def test_lines_that_find_no_room_are_counted_in_a_line() -> None:
    queue = LogQueue(limit=2)
    for line in lines(5):
        queue.put(line)
    taken = queue.get_all()
    assert taken[:2] == lines(2)
    assert taken[2].text == "3 lines are missing here: they came faster than they can be kept."
    assert taken[2].warns
    assert queue.get_all() == []


@pytest.mark.parametrize("line", [WARNED, FAILED, lines(1)[0]])
def test_a_line_of_the_file_is_parsed_into_what_was_written(line: LogLine) -> None:
    assert line_of(text_of(line).rstrip("\n")) == line


@pytest.mark.parametrize(
    ("text", "level", "source"),
    [
        ("Traceback (most recent call last):", "INFO", "process"),
        ("I0000 00:00:1795519432.09     789 port.cc:153] oneDNN is on", "INFO", "tensorflow"),
        ("2026-01-02 10:11:12.131415: W tensorflow/core/x.cc:3] slow", "WARNING", "tensorflow"),
        ("2026-99-02T10:11:12.131+01:00 step 3 INFO print x", "INFO", "process"),
    ],
)
def test_a_line_of_the_process_has_the_step_of_the_line_before(
    text: str, level: str, source: str
) -> None:
    assert line_of(text, WARNED) == LogLine(1.7e9, 7, level, source, text)
    assert line_of(text).step == 0


def test_a_growing_file_is_read_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    tail = LogTail(path)
    assert tail.poll() == []
    append(path, lines(2))
    assert tail.poll() == lines(2)
    with open(path, "a") as file:
        file.write("a raw li")
        file.flush()
        assert tail.poll() == []
        file.write("ne\n")
    assert [(line.step, line.text) for line in tail.poll()] == [(1, "a raw line")]
    assert tail.poll() == []


def test_a_file_that_was_replaced_is_read_from_its_beginning(tmp_path: Path) -> None:
    path, other = tmp_path / "log.txt", tmp_path / "other"
    tail = LogTail(path)
    append(path, lines(3))
    tail.poll()
    append(other, [WARNED])
    other.replace(path)
    assert tail.poll() == [WARNED]


def test_of_a_long_file_the_end_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nbtrain.rundir.log_file.MOST_BYTES", 200)
    append(tmp_path / "log.txt", lines(100))
    found = LogTail(tmp_path / "log.txt").poll()
    assert found == lines(len(found), first=100 - len(found))
    assert 1 < len(found) < 5


def test_a_page_is_told_the_extent_and_gets_the_lines_that_it_lacks() -> None:
    log = LogLines()
    assert extent(log) is None
    log.add([*lines(3), WARNED])
    assert extent(log) == {"count": 4, "warnings": 1, "errors": 0, "last": "the rate is high"}
    assert answer(log, 3) == {
        "t": "log", "first": 3, "count": 4,
        "rows": [[1.7e9, 7, "WARNING", "logging", "the rate is high"]],
    }  # fmt: skip


def test_an_answer_has_a_bounded_size() -> None:
    log = LogLines()
    log.add([LogLine(1.7e9, 1, "INFO", "print", "x" * 10_000)] * 4000)
    rows = answer(log, 0)["rows"]
    assert isinstance(rows, list)
    assert len(rows) == MESSAGE_LINES
    assert max(len(row[4]) for row in rows) <= LINE_CHARS


@pytest.mark.parametrize("have", [-1, None, "3", 1.5, True])
def test_a_number_of_lines_that_is_none_is_refused(have: object) -> None:
    with pytest.raises(ArgumentError, match="is not a number of lines"):
        answer(LogLines(), have)
