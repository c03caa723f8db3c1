"""Reads the curves of a run from its event files while they grow.

Each start of a run writes a file of its own. A restart mark in it says that the run went on from a
step; the run's journal knows from which part of its past. A file whose first scalars have no mark
before them is of a start that began from nothing: the run itself does not show what came before
either.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from nbtrain.logdir.event_run import EventRun, cannot_read
from nbtrain.logdir.series import Series
from nbtrain.recording.store import ScalarStore
from nbtrain.rundir.timeline import RunTimeline
from nbtrain.tfevents.names import ENDING

# Looks until a restart is taken that the journal lacks. The journal may be written later.
_PATIENCE = 4

# Seconds between two pieces of a long reading: otherwise waiting threads would never run.
_TURN_SECS = 0.0005


@dataclass(slots=True)
class _File:
    """An event file, on its way to the store.

    Attributes:
        name: Its name; "" before the first.
        events: What was read of it.
        columns: The scalars of `events`, which get other ones if the file is replaced.
        given: The points of each tag that the store has.
        opened: The number of its restarts that the store has.
        begun: Whether a restart or a point of it was given.
    """

    name: str
    events: EventRun
    columns: Mapping[str, Series] = field(init=False)
    given: dict[str, int] = field(default_factory=dict)
    opened: int = 0
    begun: bool = False

    def __post_init__(self) -> None:
        """Notes the scalars of the file as it is now."""
        self.columns = self.events.series


class Curves:
    """The event files of one folder, on their way to a store; one thread.

    Args:
        folder: The run's folder.
        store: The store that gets the points.
        timeline: Returns the timeline of the run's journal.

    Attributes:
        error: What could not be read, in words; None if all is well.
        left: Whether the last reading was too short to read all.
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
        self._file = _File(name, EventRun(str(self._folder)))

    def begin_again(self) -> None:
        """Forgets everything, because the files are those of another run."""
        self._store.clear()
        self._begin()

    def poll(self, secs: float) -> bool:
        """Reads on for about `secs` seconds; returns whether all that was there is in the store."""
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
        """The files that have not been begun, in the order of their creation."""
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
        """Reads what is new of the current file; returns whether all of it is in the store."""
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
            time.sleep(_TURN_SECS)
        if events.unreadable:
            whys = (f"{path}: {why}" for path, why in events.unreadable.items())
            self.error = cannot_read(*whys)
        return self._forward()

    def _forward(self) -> bool:
        """Gives the store what was read; returns whether that is all of it."""
        file, events = self._file, self._file.events
        for at in range(file.opened, len(events.starts)):
            step, wall_time = events.starts[at]
            if not self._give(events.before[at]) or not self._open_segment(step - 1, wall_time):
                return False
            file.opened, file.begun = at + 1, True
        return self._give({tag: series.count for tag, series in events.series.items()})

    def _give(self, ends: Mapping[str, int]) -> bool:
        """Gives the store the points of each tag up to these numbers; returns whether it could."""
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
        """Opens a segment in the store, unless the journal is about to tell of it.

        Args:
            over: Whether the run begins from nothing.
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
