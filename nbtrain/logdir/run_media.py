"""The pictures and media of one run, found in its event files while they grow.

media = RunMedia("runs/digits")
media.tick()                          # now and then; reads what is new for a while
media.extent                          # (3, 120): tags, and values of all of them
media.history("images", "samples")    # its steps, and its values, each read on request

No value is kept in memory, only its position in the file. Values of all writers are found.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from nbtrain.core.errors import ArgumentError
from nbtrain.logdir.event_run import EventRun
from nbtrain.logdir.history import History, summary_value
from nbtrain.tfevents.decode import Decoded
from nbtrain.tfevents.names import PART
from nbtrain.tfevents.values import Value, value_of

# The kinds, in the order in which they are shown.
KINDS = ("images", "text", "pr_curves", "histograms", "audio")

# Seconds between two scans for new values, and seconds of reading in one tick.
POLL_SECS, READ_SECS = 0.5, 0.02


class _Media(EventRun):
    """The events of a run without its scalars."""

    def _by_name(self, _found: Iterable[Decoded]) -> dict[str, Decoded]:
        return {}


class RunMedia:
    """The images, texts, curves, histograms and sounds of one run; any thread may use it.

    Args:
        folder: The run's folder.
        clock: Returns seconds that never go backwards.
    """

    def __init__(
        self, folder: str | os.PathLike[str], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._folder, self._clock = os.fspath(folder), clock
        self._lock = threading.RLock()  # protects what was read
        self._run = _Media(self._folder)
        self._reading: Iterator[None] | None = None
        self._due = 0.0
        self.extent = (0, 0)

    def tick(self, *, to_end: bool = False, secs: float = math.inf) -> None:
        """Scans for new values if a scan is due, and reads some of them; later ticks read the rest.

        Args:
            to_end: Whether to scan at once, and to read all.
            secs: The most seconds of reading with `to_end`.
        """
        with self._lock:
            if self._reading is None:
                if not to_end and self._clock() < self._due:
                    return
                self._scan()
            until = self._clock() + (secs if to_end else READ_SECS)
            while self._reading is not None and self._clock() < until:
                if next(self._reading, self) is self:
                    self._reading, self._due = None, self._clock() + POLL_SECS
            indexes = self._run.indexes
            counts = [each.count for kind in KINDS for each in indexes.get(kind, {}).values()]
            self.extent = (len(counts), sum(counts))

    def tags(self) -> list[tuple[str, str, int]]:
        """Returns kind, tag and number of values of each tag, in the order of `KINDS`."""
        with self._lock:
            return [
                (kind, tag, index.count)
                for kind in KINDS
                for tag, index in list(self._run.indexes.get(kind, {}).items())
            ]

    def history(self, kind: str, tag: str) -> History:
        """Returns the values of a tag.

        Raises:
            ArgumentError: There is no such kind or tag.
        """
        with self._lock:
            if kind not in KINDS or tag not in self._run.indexes.get(kind, {}):
                raise ArgumentError(f"The run has no {kind!r:.80} under the tag {tag!r:.80}.")
            return History(kind, tag, self._run.places(kind, tag))

    def value(self, kind: str, tag: str, number: int) -> tuple[Value, str]:
        """Reads one value of a tag, and its writer's description.

        Args:
            number: The index among all values of the tag.

        Raises:
            ArgumentError: There is no such kind, tag or number, or the value does not have the
                format of its kind.
            OSError: The file is gone or was changed.
        """
        with self._lock:
            history = self.history(kind, tag)
            if not 0 <= number < len(history):
                raise ArgumentError(f"{number!r} is none of the {len(history)} values of {tag!r}.")
            places = self._run.places(kind, tag)
        found = summary_value(places, number, tag)
        return value_of(kind, found, tag), found.metadata.summary_description

    def has_read(self, path: Path) -> bool:
        """Returns whether all that the last scan found was read, including this file."""
        with self._lock:
            return self._reading is None and path.name in self._run.files

    def newest_graph(self, tag: str) -> Any:
        """Returns the newest graph of a tag as it was written; None if none was found."""
        with self._lock:
            if tag not in self._run.indexes.get("graphs", {}):
                return None
            places = self._run.places("graphs", tag)
        try:
            return summary_value(places, -1, tag)
        except OSError:
            return None

    def _scan(self) -> None:
        try:
            with os.scandir(self._folder) as entries:
                names = sorted(entry.name for entry in entries if PART in entry.name)
        except (FileNotFoundError, NotADirectoryError):
            names = []
        if not self._run.files <= {*names}:  # moved aside: another run begins there
            self._run = _Media(self._folder)
        self._run.scan(names)
        self._reading = self._run.read()
