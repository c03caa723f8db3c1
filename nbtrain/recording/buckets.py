"""Reduces a curve of any length to at most 512 buckets for display.

A bucket holds the step and wall time of the first of `stride` consecutive points, and mean, minimum
and maximum of all of them (the last bucket may be partial). When there are too many, neighbours are
folded and the stride doubles, so a million points draw as quickly as a thousand and no peak is
lost. A NaN makes its bucket NaN, an infinity its end of the range, so both stay visible at every
stride.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nbtrain.core.arrays import FloatArray, IntArray

LIMIT = 512


@dataclass(frozen=True, slots=True)
class Buckets:
    """A copy of some buckets, safe to hand to any thread.

    Attributes:
        stride: Points in a full bucket, a power of two.
        points: Points of the whole curve.
        start: Index of the first bucket here within the curve.
        steps: First step of every bucket, float64 of shape (n,).
        wall_times: Wall time of its first point, in seconds since the epoch, float64 of shape (n,).
        mean, lo, hi: Mean, minimum and maximum of every bucket, float64 of shape (n,).
    """

    stride: int
    points: int
    start: int
    steps: FloatArray
    wall_times: FloatArray
    mean: FloatArray
    lo: FloatArray
    hi: FloatArray

    @property
    def whole(self) -> slice:
        """The buckets whose means form a line, if the last one is included here.

        A partial last bucket is left out: the mean of a single point among means of many looks like
        a bend of the curve.
        """
        partial = len(self.mean) > 1 and self.points % self.stride > 0
        return slice(len(self.mean) - partial)


class BucketCurve:
    """The buckets of one growing curve; not thread-safe, its owner holds the lock."""

    def __init__(self) -> None:
        self.stride = 1
        self.points = 0
        self._steps = np.empty(LIMIT)
        self._wall_times = np.empty(LIMIT)
        self._sum = np.empty(LIMIT)
        self._lo = np.empty(LIMIT)
        self._hi = np.empty(LIMIT)

    def __len__(self) -> int:
        """The number of buckets, including the partial one."""
        return -(-self.points // self.stride)

    def extend(
        self, steps: npt.NDArray[np.int64], wall_times: FloatArray, values: FloatArray
    ) -> None:
        """Adds points in the order in which they were recorded; all of shape (n,)."""
        if not len(values):
            return
        before = len(self)
        while -(-(self.points + len(values)) // self.stride) > LIMIT:
            self.fold()
            before = len(self)
        bucket = np.arange(self.points, self.points + len(values)) // self.stride
        starts = np.flatnonzero(np.diff(bucket, prepend=-1))
        where = bucket[starts]
        total, lo, hi = reduced(values, starts)
        if where[0] < before:  # the first new points belong to the partial bucket
            last = where[0]
            with np.errstate(invalid="ignore", over="ignore"):
                total[0] += self._sum[last]
                lo[0] = np.minimum(lo[0], self._lo[last])
                hi[0] = np.maximum(hi[0], self._hi[last])
        fresh = where >= before
        self._steps[where[fresh]] = steps[starts[fresh]]
        self._wall_times[where[fresh]] = wall_times[starts[fresh]]
        self._sum[where], self._lo[where], self._hi[where] = total, lo, hi
        self.points += len(values)

    def view(self, start: int = 0, count: int | None = None) -> Buckets:
        """Copies `count` buckets from `start`; by default all."""
        part = slice(start, len(self) if count is None else min(start + count, len(self)))
        sizes = np.full(part.stop - part.start, self.stride, dtype=np.float64)
        if part.stop == len(self) and len(sizes) and self.points % self.stride:
            sizes[-1] = self.points % self.stride
        with np.errstate(invalid="ignore"):
            mean = self._sum[part] / sizes
        return Buckets(
            self.stride,
            self.points,
            start,
            self._steps[part].copy(),
            self._wall_times[part].copy(),
            mean,
            self._lo[part].copy(),
            self._hi[part].copy(),
        )

    def cut(self, points: int, rest: FloatArray) -> None:
        """Drops the points after the first `points`.

        Args:
            rest: The kept values that do not fill a bucket; of shape (points % stride,).
        """
        self.points = points
        if len(rest):
            last = len(self) - 1
            with np.errstate(invalid="ignore", over="ignore"):
                self._sum[last] = rest.sum()
            self._lo[last], self._hi[last] = rest.min(), rest.max()

    def fold(self) -> None:
        """Joins neighbours: half as many buckets, each of twice as many points."""
        count = len(self)
        pairs, odd = count // 2, count % 2
        left, right = slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2)
        with np.errstate(invalid="ignore", over="ignore"):
            for column, join in (
                (self._sum, np.add),
                (self._lo, np.minimum),
                (self._hi, np.maximum),
            ):
                column[:pairs] = join(column[left], column[right])
                column[pairs : pairs + odd] = column[count - odd : count]
        for first in (self._steps, self._wall_times):
            first[: pairs + odd] = first[0:count:2]
        self.stride *= 2


def reduced(values: FloatArray, bounds: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Returns sum, minimum and maximum of slices; `bounds` are those of `np.ufunc.reduceat`."""
    with np.errstate(invalid="ignore", over="ignore"):
        return (
            np.add.reduceat(values, bounds),
            np.minimum.reduceat(values, bounds),
            np.maximum.reduceat(values, bounds),
        )
