"""The points of one tag in one run of a logdir, in compact columns that grow."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nbtrain.core.values.arrays import FloatArray, IntArray

EVENT = -1  # the index of a value that is an event of its own, not within a summary


@dataclass(frozen=True, slots=True)
class Points:
    """All points of one tag, in the order in which they were written.

    Attributes:
        steps: int64 of shape (n,).
        wall_times: float64 of shape (n,): seconds since the epoch.
        values: float64 of shape (n,).
        abandoned: bool of shape (n,): whether the program later went back to the step of the point
            or an earlier one, so that another point replaced this one.
    """

    steps: IntArray
    wall_times: FloatArray
    values: FloatArray
    abandoned: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        """The number of points."""
        return len(self.values)


@dataclass(frozen=True, slots=True)
class Places:
    """The file positions of one tag's values, which are read on request unless they are scalars.

    Attributes:
        steps: int64 of shape (n,), in the order in which they were written.
        wall_times: float64 of shape (n,): seconds since the epoch.
        abandoned: bool of shape (n,), as in `Points`.
        paths: The run's files.
        records: int64 of shape (n, 4): index of the file, offset and bytes of the record's payload
            in the file, and index of the value within the summary, or `EVENT`.
    """

    steps: IntArray
    wall_times: FloatArray
    abandoned: npt.NDArray[np.bool_]
    paths: tuple[str, ...]
    records: IntArray


class Series:
    """The points of one tag; not thread-safe: the caller must hold the lock."""

    def __init__(self) -> None:
        self._steps, self._wall_times, self._values = array("q"), array("d"), array("d")

    @property
    def count(self) -> int:
        """The number of points."""
        return len(self._steps)

    def extend(self, steps: IntArray, wall_times: FloatArray, values: FloatArray) -> None:
        """Adds points in the order in which they were written; all of shape (n,)."""
        self._steps.frombytes(steps.tobytes())
        self._wall_times.frombytes(wall_times.tobytes())
        self._values.frombytes(values.tobytes())

    def rows(
        self, begin: int = 0, end: int | None = None
    ) -> tuple[IntArray, FloatArray, FloatArray]:
        """Returns a copy of some points, by default of all: steps, wall times and values."""
        part = slice(begin, end)
        steps = np.array(self._steps[part], np.int64)
        return steps, np.array(self._wall_times[part]), np.array(self._values[part])

    def points(self, starts: Sequence[tuple[int, float]] = ()) -> Points:
        """Returns a copy of all points.

        Args:
            starts: Step and wall time of the run's restarts. Points from such a step on that were
                written before that wall time were abandoned.
        """
        steps, wall_times = np.array(self._steps, np.int64), np.array(self._wall_times)
        gone = _abandoned(steps, wall_times, starts)
        return Points(steps, wall_times, np.array(self._values), gone)


class Index:
    """The file positions of one tag's values; not thread-safe: the caller must hold the lock."""

    def __init__(self) -> None:
        self._steps, self._wall_times, self._records = array("q"), array("d"), array("q")

    @property
    def count(self) -> int:
        """The number of values."""
        return len(self._steps)

    def add(self, step: int, wall_time: float, record: tuple[int, int, int, int]) -> None:
        """Adds a value; `record` is a row of `Places.records`."""
        self._steps.append(step)
        self._wall_times.append(wall_time)
        self._records.extend(record)

    def places(self, paths: tuple[str, ...], starts: Sequence[tuple[int, float]] = ()) -> Places:
        """Returns a copy of all positions in these files; `starts` as in `Series.points`."""
        steps, wall_times = np.array(self._steps, np.int64), np.array(self._wall_times)
        records = np.array(self._records, np.int64).reshape(-1, 4)
        return Places(steps, wall_times, _abandoned(steps, wall_times, starts), paths, records)


def _abandoned(
    steps: IntArray, wall_times: FloatArray, starts: Sequence[tuple[int, float]]
) -> npt.NDArray[np.bool_]:
    """Marks the points that were replaced: a later point has the same or an earlier step."""
    gone = np.zeros(len(steps), np.bool_)
    back = np.flatnonzero(steps[1:] < steps[:-1]) + 1
    if len(back):
        lowest = np.full(len(steps), np.iinfo(np.int64).max)
        lowest[back - 1] = steps[back]
        np.minimum.accumulate(lowest[::-1], out=lowest[::-1])
        gone = steps >= lowest
    for step, wall_time in starts:
        gone |= (steps >= step) & (wall_times < wall_time)
    return gone
