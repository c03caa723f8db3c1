"""Follows what a run has recorded: marks in its journal, curves in its event files, its log."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path

from nbtrain.core.text.log_lines import LogLines
from nbtrain.logdir.run_media import RunMedia
from nbtrain.recording.store import ScalarStore
from nbtrain.remote.curves import Curves
from nbtrain.remote.journal_tail import JournalTail
from nbtrain.rundir.journal import Marks
from nbtrain.rundir.log_text import LogTail
from nbtrain.rundir.names import LOG

# Seconds between two looks for new points, and seconds of reading in one of them.
_CURVES_SECS = 0.5
_READ_SECS = 0.05


class RecordTail:
    """The records of one folder; one thread.

    Args:
        folder: The run's folder.
        clock: Returns seconds that never go backwards.

    Attributes:
        scalars: The points that were read.
        marks: The marks that were read.
        log: The lines of the log that were read.
        media: The pictures and media that were found.
    """

    def __init__(self, folder: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.scalars, self.marks, self.log = ScalarStore(), Marks(), LogLines()
        self.media = RunMedia(folder, clock)
        self._lines = LogTail(folder / LOG)
        self._clock = clock
        self._journal = JournalTail(folder, self.marks)
        self._curves = Curves(folder, self.scalars, lambda: self.marks.timeline)
        self._due = 0.0

    @property
    def left(self) -> bool:
        """True if the last reading of curves was too short to read all."""
        return self._curves.left

    @property
    def error(self) -> str | None:
        """The event files that could not be read, in words; None if all is well."""
        return self._curves.error

    def poll_marks(self) -> None:
        """Reads new lines of the journal; forgets the curves if another run has written it."""
        if self._journal.poll():
            self._curves.begin_again()

    def poll_log(self) -> None:
        """Reads new lines of the log."""
        self.log.add(self._lines.poll())

    def poll_curves(self, *, to_end: bool) -> bool:
        """Reads new points if that is due; returns whether all that was there has been read.

        Args:
            to_end: Whether to read at once, and all.
        """
        if not (to_end or self.left or self._clock() >= self._due):
            return False
        done = self._curves.poll(math.inf if to_end else _READ_SECS)
        self._due = self._clock() + _CURVES_SECS
        return done
