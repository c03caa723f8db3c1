"""A logdir and its runs, read again and again as they grow.

Runs are TensorBoard's: folders that hold event files. What is written live, be it by this
kernel, another one or another machine, is seen at the next poll; nothing is ever written,
locked or held open.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import threading
import time
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from nbtrain.events.decode import Decoded, Decoder
from nbtrain.events.folders import Folders
from nbtrain.events.series import Points, Series
from nbtrain.events.tail import Other, Piece, Tail

# Between two pieces of a reading in slices: without it, who waits for the lock would never get it.
_TURN_SECS = 0.0005


class EventRun:
    """The events of one folder; one thread at a time may call.

    Args:
        folder: The folder.

    Attributes:
        series: The scalars by tag, in the order the tags first came.
        starts: Step and wall time of each restart of the program.
        skipped: Bytes of the files that could not be read, being damaged.
        unreadable: Files that could not be opened at the last try, and why.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.unreadable: dict[str, str] = {}
        self._reset()

    def _reset(self) -> None:
        self.series: dict[str, Series] = {}
        self.starts: list[tuple[int, float]] = []
        self.skipped = 0
        self._decoder = Decoder()
        self._tails: dict[str, Tail] = {}

    @property
    def left(self) -> int:
        """Bytes of its files that have not been read."""
        return sum(tail.size - tail.offset for tail in self._tails.values())

    @property
    def size(self) -> int:
        """Bytes of its files."""
        return sum(tail.size for tail in self._tails.values())

    def look(self, names: list[str]) -> None:
        """See what its files have to be read; `names` in the order of their making."""
        for name in names:
            if name not in self._tails:
                self._tails[name] = Tail(f"{self.folder}/{name}", self._decoder)
        anew = False
        for tail in self._tails.values():
            with self._trying(tail):
                anew |= tail.look()
        if anew:
            self._reset()
            self.look(names)

    def read(self) -> Iterator[None]:
        """Read what is new, and pause after every piece."""
        for tail in self._tails.values():
            with self._trying(tail):
                for piece in tail.poll():
                    self._take(piece)
                    yield

    @contextlib.contextmanager
    def _trying(self, tail: Tail) -> Iterator[None]:
        """Try a file: what was read of it stays, whatever becomes of it."""
        try:
            yield
        except FileNotFoundError:
            self.unreadable.pop(tail.path, None)
        except OSError as error:
            self.unreadable[tail.path] = error.strerror or str(error)
        else:
            self.unreadable.pop(tail.path, None)

    def points(self, tag: str) -> Points:
        """All points of a tag."""
        return self.series[tag].points(self.starts)

    def _take(self, piece: Piece) -> None:
        self.skipped += piece.skipped
        found = [*piece.scalars, *self._usual(piece.others)]
        parts: dict[int, list[Decoded]] = {}
        for scalars in found:
            for tag, part in _by_tag(scalars):
                parts.setdefault(tag, []).append(part)
        for tag, several in parts.items():
            series = self.series.setdefault(self._decoder.tags[tag], Series())
            series.extend(*_in_order(several))

    def _usual(self, others: list[Other]) -> Iterator[Decoded]:
        """The scalars of records that hold other things too; takes note of restarts."""
        from tensorflow.compat.v1 import Event, SessionLog

        for other in others:
            event = Event.FromString(other.payload)
            if event.session_log.status == SessionLog.START:
                self.starts.append((event.step, event.wall_time))
            for value in event.summary.value:
                number = _number(value)
                if number is not None:
                    yield Decoded(
                        np.array([other.row]),
                        np.array([self._decoder.tag_id(value.tag)]),
                        np.array([event.step]),
                        np.array([event.wall_time]),
                        np.array([number], np.float64),
                    )


def _by_tag(scalars: Decoded) -> Iterator[tuple[int, Decoded]]:
    tags = scalars.tags
    if (tags == tags[0]).all():
        yield int(tags[0]), scalars
        return
    order = (
        np.argsort(tags, kind="stable")
        if tags.max() > 0xFFFF
        else np.argsort(tags.astype(np.uint16), kind="stable")
    )
    bounds = np.flatnonzero(np.diff(tags[order], prepend=-1, append=-1))
    for low, high in itertools.pairwise(bounds):
        part = order[low:high]
        yield (
            int(tags[part[0]]),
            Decoded(
                scalars.rows[part],
                tags[part],
                scalars.steps[part],
                scalars.wall_times[part],
                scalars.values[part],
            ),
        )


def _in_order(several: list[Decoded]) -> tuple[Any, Any, Any]:
    if len(several) == 1:
        one = several[0]
        return one.steps, one.wall_times, one.values
    order = np.argsort(np.concatenate([each.rows for each in several]), kind="stable")
    steps = np.concatenate([each.steps for each in several])[order]
    wall_times = np.concatenate([each.wall_times for each in several])[order]
    return steps, wall_times, np.concatenate([each.values for each in several])[order]


def _number(value: Any) -> float | None:
    """The scalar that a `Summary.Value` holds; None for something else."""
    kind = value.WhichOneof("value")
    if kind == "simple_value":
        return float(value.simple_value)
    plugin = value.metadata.plugin_data.plugin_name
    if kind != "tensor" or plugin not in ("", "scalars"):
        return None
    import tensorflow as tf

    array = tf.make_ndarray(value.tensor)
    return float(array.reshape(())) if array.size == 1 and array.dtype.kind in "fiub" else None


class Reader:
    """Every run below a folder; its methods may be called from any thread.

    Args:
        logdir: The folder; one with a scheme, like `gs://`, is read through `tf.io.gfile`.

    Attributes:
        version: Another number whenever something has been read, by whatever thread.

    Raises:
        ArgumentError: It is no folder that can be read.
    """

    def __init__(self, logdir: str) -> None:
        self.logdir = logdir
        self.version = 0
        self._runs: dict[str, EventRun] = {}
        self._folders = Folders(logdir)
        self._lock = threading.RLock()  # protects the runs

    @property
    def runs(self) -> list[str]:
        """The names of the runs, sorted: their folders below the logdir; "." is the logdir."""
        with self._lock:
            return sorted(self._runs)

    def tags(self, run: str) -> list[str]:
        """The tags of a run's scalars, in the order they first came."""
        with self._lock:
            return list(self._runs[run].series)

    def count(self, run: str, tag: str) -> int:
        """How many points a tag of a run has; 0 where there is no such tag."""
        with self._lock:
            series = self._runs[run].series.get(tag) if run in self._runs else None
            return series.count if series else 0

    def progress(self) -> float:
        """How much of what was found at the last look has been read: from 0 to 1."""
        with self._lock:
            size = sum(run.size for run in self._runs.values())
            return 1 - sum(run.left for run in self._runs.values()) / size if size else 1.0

    def points(self, run: str, tag: str) -> Points:
        """All points of a tag in a run, copied."""
        with self._lock:
            return self._runs[run].points(tag)

    def skipped(self) -> dict[str, int]:
        """For each run with damaged files, how many of their bytes could not be read."""
        with self._lock:
            return {name: run.skipped for name, run in sorted(self._runs.items()) if run.skipped}

    def unreadable(self) -> dict[str, str]:
        """Folders and files that could not be read at the last try, and why."""
        with self._lock:
            found = dict(self._folders.unreadable)
            for run in self._runs.values():
                found |= run.unreadable
            return found

    def look(self) -> None:
        """See which runs and files there are, and how long they have become."""
        with self._lock:
            for run, names in self._folders.look():
                if run not in self._runs:
                    folder = self.logdir if run == "." else f"{self.logdir}/{run}"
                    self._runs[run] = EventRun(folder)
                self._runs[run].look(names)

    def read(self, secs: float = math.inf) -> bool:
        """Read what was found at the last look, all runs by turns.

        Args:
            secs: After how many seconds to leave the rest to the next call.

        Returns:
            Whether there was something to read.
        """
        began, any_read = time.monotonic(), False
        with self._lock:
            readers = deque(run.read() for run in self._runs.values() if run.left)
        while readers and time.monotonic() - began < secs:
            if secs < math.inf:
                time.sleep(_TURN_SECS)
            with self._lock:
                if next(readers[0], self) is not self:
                    any_read = True
                    self.version += 1
                    readers.rotate(-1)
                else:
                    readers.popleft()
        return any_read
