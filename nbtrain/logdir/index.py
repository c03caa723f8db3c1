"""Where the values of one tag lie in a run's files: what is no scalar is read when asked for."""

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
    """Where the values of one tag lie, in the order they were written.

    Attributes:
        steps: int64 of shape (n,).
        wall_times: float64 of shape (n,): seconds since the epoch.
        abandoned: bool of shape (n,), as `Points` has it.
        paths: The run's files.
        records: int64 of shape (n, 4): which of the files, where in it the payload of the
            record begins, its bytes, and which value of its summary is meant.
    """

    steps: IntArray
    wall_times: FloatArray
    abandoned: npt.NDArray[np.bool_]
    paths: tuple[str, ...]
    records: IntArray


class Index:
    """The places of one tag; not thread-safe, its owner holds the lock."""

    def __init__(self) -> None:
        self._steps = array("q")
        self._wall_times = array("d")
        self._records = array("q")

    @property
    def count(self) -> int:
        """How many values there are."""
        return len(self._steps)

    def add(self, step: int, wall_time: float, record: tuple[int, int, int, int]) -> None:
        """Add a value; its `record` as a row of `Places.records`."""
        self._steps.append(step)
        self._wall_times.append(wall_time)
        self._records.extend(record)

    def places(self, paths: tuple[str, ...], starts: Sequence[tuple[int, float]] = ()) -> Places:
        """All places, copied.

        Args:
            paths: The run's files.
            starts: The run's restarts, as in `Series.points`.
        """
        steps, wall_times = np.array(self._steps, np.int64), np.array(self._wall_times)
        records = np.array(self._records, np.int64).reshape(-1, 4)
        gone = abandoned(steps, wall_times, starts)
        return Places(steps, wall_times, gone, paths, records)
