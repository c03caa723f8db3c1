"""The log of a run: its newest lines, with step, time, level and source."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from nbtrain.core.text.visible import visible

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")

# "process" is what the process wrote to its output outside of Python, and before the run began.
SOURCES = ("print", "logging", "warning", "tensorflow", "process")

# The newest lines that a run keeps in memory. All are in its `log.txt`.
MOST_LINES = 10_000


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of a log.

    Attributes:
        wall_time: The time in seconds since the epoch; 0 if unknown.
        step: Completed steps at that time.
        level: One of `LEVELS`; prints have INFO.
        source: One of `SOURCES`.
        text: The line, without its end.
    """

    wall_time: float
    step: int
    level: str
    source: str
    text: str

    @property
    def warns(self) -> bool:
        """True for a warning; an error `fails`."""
        return self.level == "WARNING"

    @property
    def fails(self) -> bool:
        """True for an error."""
        return self.level in LEVELS[3:]

    def __str__(self) -> str:
        """Returns step, level, source and text."""
        return f"step {self.step:,}  {self.level}  {self.source}  {self.text}"


def at_return(line: str) -> str:
    """Returns the part of an unended line that a terminal shows: the text after its last return.

    A carriage return replaces a text only once another text follows.
    """
    return line[line.rfind("\r", 0, len(line.rstrip("\r"))) + 1 :]


def selected(
    lines: Iterable[LogLine], *, level: str = "DEBUG", source: str | None = None, text: str = ""
) -> list[LogLine]:
    """Returns the lines of at least a level, of a source, that contain a text in any case."""
    wanted, part = LEVELS[LEVELS.index(level) :], text.casefold()
    return [
        line
        for line in lines
        if line.level in wanted
        and source in (None, line.source)
        and (not part or part in line.text.casefold())
    ]


class LogLines:
    """The newest lines of a run, from all its starts; any thread.

    Args:
        most: The number of lines that are kept.

    Attributes:
        count: The number of all lines so far.
        warnings: The number of warnings among them.
        errors: The number of errors among them.
    """

    def __init__(self, most: int = MOST_LINES) -> None:
        self.count = self.warnings = self.errors = 0
        self._lines: deque[LogLine] = deque(maxlen=most)
        self._lock = threading.Lock()  # protects all of these

    def add(self, lines: Iterable[LogLine]) -> None:
        """Adds lines at the end."""
        with self._lock:
            for line in lines:
                self._lines.append(line)
                self.count += 1
                self.warnings += line.warns
                self.errors += line.fails

    def since(self, number: int, most: int = MOST_LINES) -> tuple[int, list[LogLine]]:
        """Returns how many lines come before, and the kept lines after the first `number` of all.

        Args:
            most: The number of lines to return at most, the oldest.
        """
        with self._lock:
            dropped = self.count - len(self._lines)
            first = min(max(number, dropped), self.count)
            begin = first - dropped
            return first, list(itertools.islice(self._lines, begin, begin + most))

    @property
    def last(self) -> LogLine | None:
        """The newest line; None if there is none."""
        with self._lock:
            return self._lines[-1] if self._lines else None

    def __iter__(self) -> Iterator[LogLine]:
        """Iterates over the kept lines, the oldest first."""
        return iter(self.since(0)[1])

    def __len__(self) -> int:
        """The number of kept lines."""
        return len(self._lines)

    def __repr__(self) -> str:
        """Returns the kept lines, the newest last."""
        return visible("\n".join(map(str, self))) or "no lines yet"


class LogQueue:
    """Lines that wait to be stored and written; adding one never blocks.

    Args:
        limit: Lines that may wait. Further ones are counted, and not kept.
    """

    def __init__(self, limit: int = MOST_LINES) -> None:
        self._limit = limit
        self._waiting: deque[LogLine] = deque()
        self._dropped = 0

    def put(self, line: LogLine) -> None:
        """Adds a line; any thread."""
        if len(self._waiting) < self._limit:
            self._waiting.append(line)
        else:
            self._dropped += 1

    def get_all(self) -> list[LogLine]:
        """Returns the waiting lines; a last line reports how many were dropped. One thread only."""
        lines = [self._waiting.popleft() for _ in range(len(self._waiting))]
        dropped, self._dropped = self._dropped, 0
        if dropped and lines:
            text = f"{dropped:,} lines are missing here: they came faster than they can be kept."
            last = lines[-1]
            lines.append(LogLine(last.wall_time, last.step, "WARNING", "process", text))
        return lines
