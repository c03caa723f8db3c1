"""Reads the curves of a run's earlier starts from its folder.

A restarted kernel does not have these curves, nor does a new run with an old name. The curves may
be long, so they are read beside the training, a piece at a time.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from nbtrain.core.timeline import Timeline
from nbtrain.logdir.event_run import EventRun, cannot_read
from nbtrain.recording.store import ScalarStore
from nbtrain.tfevents.names import ENDING


class Earlier:
    """The contents of a folder's event files, on their way to the store of a new run.

    Args:
        store: The store that gets them once all have been read.
        logdir: The folder. Only files that exist now and were written by a run are read, not those
            of a Supervisor or the user.

    Attributes:
        error: A message about what could not be read; None without an error.
    """

    def __init__(self, store: ScalarStore, logdir: Path) -> None:
        self.error: str | None = None
        self._store, self._logdir = store, logdir
        self._names = sorted(path.name for path in logdir.glob(f"*{ENDING}"))
        self._reading: Iterator[None] | None = None

    def begin(self, timeline: Timeline) -> None:
        """Lets `read` begin; the run's timeline knows the segments of the earlier starts."""
        if self._names:
            self._reading = self._read(timeline)

    def read(self, secs: float) -> None:
        """Continues reading for about `secs` seconds if anything is left; for one thread."""
        until = time.monotonic() + secs
        while self._reading is not None and time.monotonic() < until:
            try:
                if next(self._reading, self) is self:
                    self._reading = None
            except Exception as error:  # noqa: BLE001 - reported; the run continues
                self._reading = None
                self.error = cannot_read(f"{type(error).__name__}: {error}")

    def _read(self, timeline: Timeline) -> Iterator[None]:
        files = EventRun(str(self._logdir))
        files.scan(self._names)
        yield from files.read()
        if files.unreadable:
            self.error = cannot_read(*(f"{path}: {why}" for path, why in files.unreadable.items()))
        segments = files.segments(timeline)
        self._store.recall(_recorded(files, segments), known=segments is not None)


def _recorded(files: EventRun, segments: Sequence[int] | None) -> ScalarStore:
    """Returns everything in a store like that of the earlier starts.

    Args:
        segments: The segment of the run's timeline that each restart opens; None if unknown.
    """
    found = ScalarStore()
    columns = {tag: series.points() for tag, series in files.series.items()}
    columns = dict(sorted(columns.items(), key=lambda item: item[1].wall_times[0]))
    ends: dict[str, int] = {tag: len(of) for tag, of in columns.items()}
    for number, (begin, end) in enumerate(itertools.pairwise([{}, *files.before, ends])):
        if number:  # the step of the mark is one after the restored step
            limits = None
            if segments is not None:
                limits = dict.fromkeys(range(segments[number - 1] + 1), math.inf)
            found.open_segment(files.starts[number - 1][0] - 1, limits)
        for tag, of in columns.items():
            rows = slice(begin.get(tag, 0), end.get(tag, 0))
            if rows.stop > rows.start:
                found.extend(tag, of.steps[rows], of.wall_times[rows], of.values[rows])
    return found
