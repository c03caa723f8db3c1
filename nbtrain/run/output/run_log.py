"""The log of one start of a run: what its threads print and log, with step and time.

    training threads ── put ──▶ LogQueue ── drain ──▶ LogLines, log.txt

Adding a line costs a training thread microseconds. A LooperThread stores and writes the lines in
bulk. If the process prints to `log.txt` itself, because it was launched, a line is written there at
once: the same work as the print that it replaces.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from nbtrain.core.text.log_lines import LEVELS, LogLine, LogLines, LogQueue, at_return
from nbtrain.inner.tensorflow import threads_of
from nbtrain.run.context import Context
from nbtrain.run.output import log_sources
from nbtrain.run.thread.threads import Coordinator
from nbtrain.rundir.folder import shown
from nbtrain.rundir.log_file import LogTail, append, descriptor_of, native, text_of
from nbtrain.rundir.names import LOG

# Lines that a start prints under the cell of a notebook. The others are only in its log, because a
# notebook keeps everything that it shows.
SHOWN_LINES = 1000

_MORE = f"… the {SHOWN_LINES:,} lines above are the first. All are in run.log, the panel and "

# A line longer than this is cut: a progress bar may never end its line.
MOST_CHARS = 10_000

_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_PYTHON_WARNINGS = "py.warnings"  # the logger of logging.captureWarnings(True)
_TENSORFLOW = frozenset({"tensorflow", "absl", "keras"})


class RunLog:
    """The log of one start of a run; any thread.

    Args:
        context: The parts of the attempt.
        lines: The lines of the run, from all its starts.
        coords: Returns the coordinators whose threads are the run's, too.
    """

    def __init__(
        self, context: Context, lines: LogLines, coords: Callable[[], Iterable[Coordinator]]
    ) -> None:
        self._context, self._lines, self._coords = context, lines, coords
        self._queue = LogQueue()
        self._path = context.folder.path / LOG
        self._parts: dict[tuple[int, int], str] = {}  # unended lines, by thread and stream
        self._begun = False
        self._direct: int | None = None  # the descriptor that is the file
        self._shown = 0  # lines under the cell

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Records what the threads of the run print and log inside the block."""
        self._direct = descriptor_of(self._path)
        log_sources.listen(self)
        try:
            yield
        finally:
            log_sources.forget(self)
            for part in list(self._parts.values()):
                self._put("INFO", "print", part)
            self._parts.clear()

    def drain(self) -> None:
        """Stores and writes the lines that wait; the looper's thread."""
        log_sources.watch_current()
        if not self._begun:
            self._begun = True
            if not self._lines.count:
                with contextlib.suppress(OSError):
                    self._lines.add(LogTail(self._path).poll())
        if not (lines := self._queue.get_all()):
            return
        self._lines.add(lines)
        monitor = self._context.monitor
        if self._direct is not None or monitor.folder.lost:
            return
        try:
            append(self._path, lines)
        except OSError as error:
            monitor.notices.note(
                "log file",
                f"{LOG} cannot be written: {error.strerror or error}. It lacks lines, the newest "
                "at step "
                f"{lines[-1].step:,}; they are in run.log.",
            )

    # --- called by the sources ------------------------------------------------------

    def is_own(self) -> bool:
        """Returns whether the calling thread is one of the run's."""
        if threading.get_ident() == self._context.commands.thread:
            return True
        thread = threading.current_thread()
        return any(thread in threads_of(coord) for coord in self._coords())

    def hides(self, stream: Any) -> bool:
        """Returns whether only the log shows what the run's threads write to a stream."""
        return self._context.settings.prints == "log" or self._is_file(stream)

    def _is_file(self, stream: Any) -> bool:
        """Returns whether a stream writes to the log's own file."""
        if self._direct is None:
            return False
        try:
            return os.path.samestat(os.fstat(stream.fileno()), os.fstat(self._direct))
        except (AttributeError, OSError, ValueError):
            return False

    def prints(self, stream: Any, text: str) -> bool:
        """Records a printed text of the calling thread; returns whether the stream shows it."""
        key = threading.get_ident(), id(stream)
        *complete, part = (self._parts.pop(key, "") + text).split("\n")
        for line in complete:
            self._put("INFO", "print", line)
        if part := at_return(part)[:MOST_CHARS]:
            self._parts[key] = part
        if self.hides(stream):
            return False
        if not type(stream).__module__.startswith("ipykernel"):
            return True
        return self._has_room(stream, len(complete))

    def record(self, record: logging.LogRecord) -> None:
        """Records a record of Python's `logging`."""
        try:
            text = record.getMessage()
        except Exception:  # noqa: BLE001 - a malformed line must not end the training
            text = str(record.msg)
        if record.exc_info and record.exc_info[0] is not None:
            text += "\n" + "".join(traceback.format_exception(*record.exc_info))
        root, level = record.name.partition(".")[0], level_of(record.levelno)
        if record.name == _PYTHON_WARNINGS:
            self._put(level, "warning", text)
        elif root in _TENSORFLOW:
            self._put(level, "tensorflow", text)
        else:
            named = text if record.name == "root" else f"{record.name}: {text}"
            self._put(level, "logging", named)

    def warning(self, text: str) -> None:
        """Records a warning of Python."""
        self._put("WARNING", "warning", text)

    def native(self, text: str) -> None:
        """Records text that the process wrote outside of Python; its run is unknown."""
        if self._direct is not None:
            return  # it is in the file
        for part in text.splitlines():
            if part.strip():
                self._keep(native(time.time(), self._context.steps.step, part))

    # --- lines ----------------------------------------------------------------------

    def _put(self, level: str, source: str, text: str) -> None:
        now, step = time.time(), self._context.steps.step
        for part in text.split("\n"):
            said = _COLOURS.sub("", part).rstrip().rpartition("\r")[2][:MOST_CHARS]
            if said:
                self._keep(LogLine(now, step, level, source, said))

    def _keep(self, line: LogLine) -> None:
        self._queue.put(line)
        if self._direct is not None:
            with contextlib.suppress(OSError):
                os.write(self._direct, text_of(line).encode(errors="replace"))

    def _has_room(self, stream: Any, count: int) -> bool:
        """Returns whether the cell shows `count` more lines; if not, prints a message once."""
        before, self._shown = self._shown, self._shown + count
        if before < SHOWN_LINES <= self._shown:
            type(stream).write(stream, f"{_MORE}{shown(self._path)}\n")
        return self._shown < SHOWN_LINES


def level_of(number: int) -> str:
    """Returns the name of the highest level that is not above the level of a record."""
    return LEVELS[min(max(number // 10 - 1, 0), len(LEVELS) - 1)]
