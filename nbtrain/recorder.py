"""Records on their way out of the training thread.

    training thread ── append ──▶ bounded queue ── drain ──▶ ScalarStore, event file

Appending costs the training thread a tuple. Converting tensors, storing and
writing happen in `drain`, on a LooperThread, for all waiting records at once.
"""

from __future__ import annotations

import functools
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import SupportsFloat

import numpy as np

from nbtrain.buckets import FloatArray
from nbtrain.events.writer import EventWriter
from nbtrain.store import IntArray, ScalarStore

Values = Mapping[str, SupportsFloat]
Record = tuple[int, float, Values | None]
Point = tuple[int, float, float]  # step, wall time, value

# About 20 MB of waiting records at the most; at 10 drains a second, 650,000 steps a second.
QUEUE_LIMIT = 65_536


class _Thinned:
    """What is kept of one tag's records while the queue is full."""

    def __init__(self, point: Point) -> None:
        self.first = self.last = self.lowest = self.highest = self.nan = point
        self.add(point)

    def add(self, point: Point) -> None:
        self.last = point
        if math.isnan(point[2]):
            self.nan = point  # it must be seen
        if point[2] < self.lowest[2] or math.isnan(self.lowest[2]):
            self.lowest = point
        if point[2] > self.highest[2] or math.isnan(self.highest[2]):
            self.highest = point

    def points(self) -> list[Point]:
        return sorted({self.first, self.lowest, self.highest, self.nan, self.last})


class Recorder:
    """The records of one run, from the training thread to the store and the event file.

    Args:
        store: Where the points go.
        logdir: Folder of the event file; None writes none.
        limit: Records that may wait. Beyond it, only the first, last, lowest and
            highest of each tag are kept until the next drain.
    """

    def __init__(
        self, store: ScalarStore, logdir: Path | None, *, limit: int = QUEUE_LIMIT
    ) -> None:
        self._store = store
        self._writer = EventWriter(logdir) if logdir is not None else None
        self._limit = limit
        self._queue: deque[Record] = deque()
        self._thinned: dict[str, _Thinned] = {}
        self._thinning = threading.Lock()  # protects `_thinned` and the count
        self._draining = threading.Lock()  # one drain at a time: records stay in order
        self.thinned_steps = 0
        self.error: str | None = None

    def append(self, step: int, wall_time: float, values: Values) -> None:
        """Queue the values of one step; training thread only, never blocks."""
        if len(self._queue) < self._limit:
            self._queue.append((step, wall_time, values))
        else:
            self._thin(step, wall_time, values)

    def open_segment(self, step: int) -> None:
        """Queue the mark that the run went back to `step`; training thread only."""
        with self._thinning:  # what was thinned came before the mark
            thinned, self._thinned = self._thinned, {}
        self._queue.extend(_records(thinned))
        self._queue.append((step, time.time(), None))

    def drain(self) -> int:
        """Convert, store and write what waits; any thread. Returns how many records."""
        with self._draining:
            batch = [self._queue.popleft() for _ in range(len(self._queue))]
            with self._thinning:
                thinned, self._thinned = self._thinned, {}
            begin = 0
            for end in [*(i for i, r in enumerate(batch) if r[2] is None), len(batch)]:
                self._keep(batch[begin:end])
                if end < len(batch):
                    self._segment(*batch[end][:2])
                begin = end + 1
            self._keep(_records(thinned))
            return len(batch)

    def close(self) -> None:
        """Drain what is left and close the event file."""
        self.drain()
        if self._writer is not None:
            self._writer.close()

    def _thin(self, step: int, wall_time: float, values: Values) -> None:
        with self._thinning:
            self.thinned_steps += 1
            for tag in values:
                point = (step, wall_time, self._number(tag, (step, wall_time, values)))
                kept = self._thinned.get(tag)
                if kept is None:
                    self._thinned[tag] = _Thinned(point)
                else:
                    kept.add(point)

    def _segment(self, step: int, wall_time: float) -> None:
        self._store.open_segment(step)
        self._write(lambda writer: writer.session_start(step, wall_time))

    def _keep(self, batch: Sequence[Record]) -> None:
        """Store and write records; where their tags differ, tag by tag: each keeps its order."""
        groups: dict[tuple[str, ...], list[Record]] = {}
        for record in batch:
            groups.setdefault(tuple(record[2] or ()), []).append(record)
        if len(groups) > 1:
            groups = {}
            for record in batch:
                for tag in record[2] or ():
                    groups.setdefault((tag,), []).append(record)
        for tags, records in groups.items():
            steps = np.array([record[0] for record in records], dtype=np.int64)
            walls = np.array([record[1] for record in records])
            columns = {tag: self._column(tag, records) for tag in tags}
            for tag, column in columns.items():
                self._store.extend(tag, steps, walls, column)
            self._write(functools.partial(_write_scalars, steps, walls, columns))

    def _write(self, write: Callable[[EventWriter], None]) -> None:
        """Write to the event file; one that fails is given up, and the store goes on."""
        if self._writer is None:
            return
        try:
            write(self._writer)
        except OSError as error:
            self.error = f"The event file ends here, the record in memory goes on: {error}"
            self._writer.close()
            self._writer = None

    def _column(self, tag: str, records: list[Record]) -> FloatArray:
        try:
            return np.array([float(record[2][tag]) for record in records])  # type: ignore[index]
        except (TypeError, ValueError):
            return np.array([self._number(tag, record) for record in records])

    def _number(self, tag: str, record: Record) -> float:
        """The value as a float; NaN, with a word in `error`, for what is no number."""
        value = (record[2] or {})[tag]
        try:
            return float(value)
        except (TypeError, ValueError) as error:
            self.error = f"{tag!r} at step {record[0]:,} is no scalar, kept as NaN: {error}"
            return float("nan")


def _records(thinned: Mapping[str, _Thinned]) -> list[Record]:
    return [
        (step, wall, {tag: value})
        for tag, kept in thinned.items()
        for step, wall, value in kept.points()
    ]


def _write_scalars(
    steps: IntArray, walls: FloatArray, columns: Mapping[str, FloatArray], writer: EventWriter
) -> None:
    writer.scalars(steps, walls, columns)
