"""Reads and writes the log of a run, `log.txt`.

2026-11-24T10:15:07.123+01:00 step 1240 WARNING logging the learning rate is high

Lines without such a beginning were written by the process itself, outside of the run: before it
began, by other threads, or by TensorFlow's C++ code.
"""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Iterable
from pathlib import Path

from nbtrain.core import own_files
from nbtrain.core.own_files import LONGEST_LINE
from nbtrain.core.text.log_lines import LEVELS, SOURCES, LogLine

_LINE = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d) step (\d{1,18}) "
    rf"({'|'.join(LEVELS)}) ({'|'.join(SOURCES)}) (.*)"
)

# The levels of the lines that TensorFlow's C++ code writes, which begin with a letter and a date,
# or with a date and a letter.
_NATIVE = re.compile(r"(?:[\d-]{10} [\d:.]{8,}: )?([IWEF])(?:\d{4} [\d:.]{8,}\s+\d+)? \S+:\d+\]")
_LETTERS = {"I": "INFO", "W": "WARNING", "E": "ERROR", "F": "CRITICAL"}

# The most bytes that are read at the end of a growing file: more than are kept.
MOST_BYTES = 4 << 20

# The most lines of a log that are shown, and the bytes that are read for them.
SHOWN_LINES = 20
_SHOWN_BYTES = 1 << 14


def text_of(line: LogLine) -> str:
    """Formats a line for the file."""
    when = datetime.datetime.fromtimestamp(line.wall_time).astimezone()
    stamp = when.isoformat(timespec="milliseconds")
    return f"{stamp} step {line.step} {line.level} {line.source} {line.text}\n"


def line_of(text: str, before: LogLine | None = None) -> LogLine:
    """Parses a line of the file; one that the process wrote has the step and time of `before`."""
    found = _LINE.fullmatch(text)
    if found is not None:
        stamp, step, level, source, said = found.groups()
        try:
            when = datetime.datetime.fromisoformat(stamp).timestamp()
            return LogLine(when, int(step), level, source, said)
        except (ValueError, OverflowError):
            pass
    when, step_before = (before.wall_time, before.step) if before else (0.0, 0)
    return native(when, step_before, text)


def native(wall_time: float, step: int, text: str) -> LogLine:
    """Returns the line for a text from outside of Python."""
    found = _NATIVE.match(text)
    if found is None:
        return LogLine(wall_time, step, "INFO", "process", text)
    return LogLine(wall_time, step, _LETTERS[found[1]], "tensorflow", text)


def append(path: Path, lines: Iterable[LogLine]) -> None:
    """Adds lines to the file.

    Raises:
        OSError: The file cannot be written.
    """
    text = "".join(map(text_of, lines)).encode(errors="replace")
    with open(own_files.descriptor(path, own_files.APPEND), "ab") as file:
        file.write(text)


class LogTail:
    """Reads a `log.txt` while it grows; one thread.

    Args:
        path: The file, which need not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._state: tuple[int, int] | None = None  # inode and size
        self._offset = 0
        self._rest = b""  # an incomplete last line
        self._before: LogLine | None = None

    def poll(self) -> list[LogLine]:
        """Returns the new lines, from the beginning if the file was replaced.

        Only the end of a long file is read.

        Raises:
            OSError: The file cannot be read.
        """
        try:
            found = own_files.state(self._path)
        except (FileNotFoundError, NotADirectoryError):
            return []
        state = (found.st_ino, found.st_size)
        if state == self._state:
            return []
        replaced = self._state is not None and found.st_ino != self._state[0]
        if replaced or found.st_size < self._offset:
            self._offset, self._rest = 0, b""
        self._state = state
        with own_files.opened(self._path) as file:
            begin = max(self._offset, found.st_size - MOST_BYTES)
            cut = begin > self._offset
            file.seek(begin)
            data = file.read(MOST_BYTES) or b""
        self._offset = begin + len(data)
        *complete, rest = (data if cut else self._rest + data).split(b"\n")
        # A progress bar may never end its line: only its present text is kept.
        rest = rest[rest.rfind(b"\r", 0, len(rest.rstrip(b"\r"))) + 1 :]
        self._rest = rest[:LONGEST_LINE]  # of a line without an end
        return [self._parsed(line) for line in complete[cut:]]

    def _parsed(self, line: bytes) -> LogLine:
        text = line.decode("utf-8", "replace").rstrip("\r").rpartition("\r")[2]
        self._before = line_of(text, self._before)
        return self._before


def descriptor_of(path: Path) -> int | None:
    """Returns the descriptor by which this process prints to the file; None if it does not."""
    for number in (1, 2):
        try:
            if os.path.samestat(os.fstat(number), path.stat()):
                return number
        except OSError:
            continue
    return None


def last_lines(path: Path) -> list[str] | None:
    """Returns lines from the end of a log, more than are shown; None if it cannot be read."""
    try:
        with own_files.opened(path) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _SHOWN_BYTES))
            text = (file.read(_SHOWN_BYTES) or b"").decode(errors="replace")
    except OSError:
        return None
    return text.rstrip().splitlines()
