"""Reads the curves of a run from its event files while they grow.

Each start of a run writes a separate file. A restart mark in it says that the run continued from a
step; the run's journal knows from which part of its past. If a file has scalars before its first
mark, its start began from scratch: the run itself does not show earlier points either.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from nbtrain.logdir.event_run import EventRun, cannot_read
from nbtrain.logdir.reader import TURN_SECS
from nbtrain.logdir.series import Series
from nbtrain.recording.store import ScalarStore
from nbtrain.rundir.timeline import RunTimeline
from nbtrain.tfevents.names import ENDING

# Polls until a restart that the journal lacks is accepted. The journal may be written later.
_PATIENCE = 4


@dataclass(slots=True)
class _File:
    """An event file, whose points are being copied to the store.

    Attributes:
        name: Its name; "" before the first.
        events: The contents that were read.
        columns: The scalars of `events`; another object once the file was replaced.
        given: The points of each tag that the store has.
        opened: The number of its restarts that the store has.
        begun: Whether the store has a restart or a point of it.
    """

    name: str
    events: EventRun
    columns: Mapping[str, Series]
    given: dict[str, int] = field(default_factory=dict)
    opened: int = 0
    begun: bool = False


class Curves:
    """Reads the event files of one folder into a store; one thread.

    Args:
        folder: The run's folder.
        store: The store that gets the points.
        timeline: Returns the timeline of the run's journal.

    Attributes:
        error: A message about what could not be read; None without an error.
        left: Whether the last poll was too short to read everything.
    """

    def __init__(
        self, folder: Path, store: ScalarStore, timeline: Callable[[], RunTimeline]
    ) -> None:
        self.error: str | None = None
        self.left = False
        self._folder, self._store, self._timeline = folder, store, timeline
        self._begin()

    def _begin(self) -> None:
        # The steps at which segments began, except the first, and the wall times of their marks.
        self._openings: list[tuple[int, float]] = []
        self._known = True  # whether these are segments of the journal
        self._waited = 0
        self._open_file("")

    def _open_file(self, name: str) -> None:
        events = EventRun(str(self._folder))
        self._file = _File(name, events, events.series)

    def begin_again(self) -> None:
        """Drops everything, because the files are those of another run."""
        self._store.clear()
        self._begin()

    def poll(self, secs: float) -> bool:
        """Continues reading for about `secs` seconds; returns whether the store has everything."""
        until = time.monotonic() + secs
        self.left = False
        names = self._new_names()
        while True:
            if self._file.name and not self._read_file(until):
                return False
            if not names:
                return True
            self._open_file(names.pop(0))

    def _new_names(self) -> list[str]:
        """Returns the files that were not opened yet, in the order of their creation."""
        try:
            with os.scandir(self._folder) as found:
                names = sorted(each.name for each in found if each.name.endswith(ENDING))
            self.error = None
        except FileNotFoundError:
            names = []
        except OSError as error:
            names, self.error = [], f"The folder {self._folder} cannot be read: {error.strerror}."
        return [name for name in names if name > self._file.name]

    def _read_file(self, until: float) -> bool:
        """Reads new points of the current file; returns whether all are in the store."""
        events = self._file.events
        events.scan([self._file.name])
        if events.series is not self._file.columns:  # it was replaced
            self.begin_again()
            self.left = True
            return False
        for _ in events.read():
            self._forward()
            if time.monotonic() > until:
                self.left = True
                return False
            time.sleep(TURN_SECS)
        if events.unreadable:
            whys = (f"{path}: {why}" for path, why in events.unreadable.items())
            self.error = cannot_read(*whys)
        return self._forward()

    def _forward(self) -> bool:
        """Adds what was read to the store; returns whether everything was added."""
        file, events = self._file, self._file.events
        for at in range(file.opened, len(events.starts)):
            step, wall_time = events.starts[at]
            if not self._give(events.before[at]) or not self._open_segment(step - 1, wall_time):
                return False
            file.opened, file.begun = at + 1, True
        return self._give({tag: series.count for tag, series in events.series.items()})

    def _give(self, ends: Mapping[str, int]) -> bool:
        """Adds the points of each tag up to these numbers to the store; returns whether it did.

        Returns False while the journal may still get the line of a restart.
        """
        file, series = self._file, self._file.events.series
        new = {tag: end for tag, end in ends.items() if end > file.given.get(tag, 0)}
        over = bool(new) and not file.begun and len(self._store) > 0
        if over and not self._open_segment(0, 0.0, over=True):
            return False
        parts = [(tag, *series[tag].rows(file.given.get(tag, 0), end)) for tag, end in new.items()]
        for part in sorted(parts, key=lambda part: part[2][0]):  # by the times of the first points
            self._store.extend(*part)
        file.given.update(new)
        file.begun = file.begun or bool(new)
        return True

    def _open_segment(self, step: int, wall_time: float, *, over: bool = False) -> bool:
        """Opens a segment in the store, unless the journal may still get its line.

        Args:
            over: Whether the run begins from scratch.
        """
        limits, openings = None, [*self._openings, (step, wall_time)]
        if self._known:
            timeline = self._timeline()
            segments = timeline.opened_by(openings)
            if segments is None and self._waited < _PATIENCE:
                self._waited += 1
                return False
            self._known = segments is not None
            if segments is not None:
                past = timeline.past(segments[-1])
                limits = {number: last for number, (last, _) in past.items()}
        self._waited = 0
        self._openings = openings
        if over:
            self._store.clear()
        self._store.open_segment(step, limits)
        return True
