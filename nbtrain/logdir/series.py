"""The points of one tag in one run of a logdir, in compact columns that grow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nbtrain.core.arrays import FloatArray, IntArray

# Rows of a block, of 24 bytes each; the first is small, as there may be ten thousand tags.
_FIRST, _LARGEST = 64, 8192


@dataclass(frozen=True, slots=True)
class Points:
    """All points of one tag, in the order in which they were written.

    Attributes:
        steps: int64 of shape (n,).
        wall_times: float64 of shape (n,): seconds since the epoch.
        values: float64 of shape (n,).
        abandoned: bool of shape (n,): whether the program later went back to this step or before,
            so that another point replaced this one.
    """

    steps: IntArray
    wall_times: FloatArray
    values: FloatArray
    abandoned: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        """The number of points."""
        return len(self.values)


class Series:
    """The points of one tag; not thread-safe, its owner holds the lock."""

    def __init__(self) -> None:
        self.count = 0
        self._blocks: list[npt.NDArray[np.int64]] = []  # rows: step; bits of wall time, and value
        self._room = 0  # rows left in the last block

    def extend(self, steps: IntArray, wall_times: FloatArray, values: FloatArray) -> None:
        """Adds points in the order in which they were written; all of shape (n,)."""
        done, count = 0, len(values)
        rows = (steps, wall_times.view(np.int64), values.view(np.int64))
        while done < count:
            if not self._room:
                self._room = min(_LARGEST, max(_FIRST, self.count // 4))
                self._blocks.append(np.empty((3, self._room), np.int64))
            size = min(self._room, count - done)
            begin = self._blocks[-1].shape[1] - self._room
            for row, column in enumerate(rows):
                self._blocks[-1][row, begin : begin + size] = column[done : done + size]
            done, self._room = done + size, self._room - size
        self.count += count

    def points(self, starts: Sequence[tuple[int, float]] = ()) -> Points:
        """Returns all points.

        Args:
            starts: The run's restarts: points from this step on, written before this wall time,
                were abandoned.
        """
        blocks = [*self._blocks]
        if blocks:
            blocks[-1] = blocks[-1][:, : blocks[-1].shape[1] - self._room]
        rows = np.concatenate(blocks, axis=1) if blocks else np.empty((3, 0), np.int64)
        steps, wall_times = rows[0], rows[1].view(np.float64)
        gone = abandoned(steps, wall_times, starts)
        return Points(steps, wall_times, rows[2].view(np.float64), gone)


def abandoned(
    steps: IntArray, wall_times: FloatArray, starts: Sequence[tuple[int, float]]
) -> npt.NDArray[np.bool_]:
    """Marks the points that others replaced; arguments as in `Series`."""
    gone = _gone_back(steps)
    for step, wall_time in starts:
        gone |= (steps >= step) & (wall_times < wall_time)
    return gone


def _gone_back(steps: IntArray) -> npt.NDArray[np.bool_]:
    """Marks the points whose step a later one went back to, or before."""
    back = np.flatnonzero(steps[1:] < steps[:-1]) + 1
    gone = np.zeros(len(steps), np.bool_)
    if len(back):
        lowest = np.full(len(steps), np.iinfo(np.int64).max)
        lowest[back - 1] = steps[back]
        np.minimum.accumulate(lowest[::-1], out=lowest[::-1])
        gone = steps >= lowest
    return gone
