"""The file positions of one tag's values, which are read on request unless they are scalars."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nbtrain.core.arrays import FloatArray, IntArray
from nbtrain.logdir.series import abandoned


@dataclass(frozen=True, slots=True)
class Places:
    """The file positions of one tag's values, in the order in which they were written.

    Attributes:
        steps: int64 of shape (n,).
        wall_times: float64 of shape (n,): seconds since the epoch.
        abandoned: bool of shape (n,), as in `Points`.
        paths: The run's files.
        records: int64 of shape (n, 4): index of the file, offset of the record's payload in it, its
            bytes, and index of the value within the summary.
    """

    steps: IntArray
    wall_times: FloatArray
    abandoned: npt.NDArray[np.bool_]
    paths: tuple[str, ...]
    records: IntArray


class Index:
    """The positions of one tag; not thread-safe, its owner holds the lock."""

    def __init__(self) -> None:
        self._steps = array("q")
        self._wall_times = array("d")
        self._records = array("q")

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
        """Returns a copy of all positions.

        Args:
            paths: The run's files.
            starts: The run's restarts, as in `Series.points`.
        """
        steps, wall_times = np.array(self._steps, np.int64), np.array(self._wall_times)
        records = np.array(self._records, np.int64).reshape(-1, 4)
        gone = abandoned(steps, wall_times, starts)
        return Places(steps, wall_times, gone, paths, records)
