"""Reduces a curve of any length to at most 512 buckets for display.

A bucket summarizes `stride` consecutive points: the step and wall time of the first one, mean,
minimum and maximum of the finite values, and how many are not finite (the last bucket may be
partial). When there are too many, neighbours are folded and the stride doubles, so a million points
draw as quickly as a thousand and no peak is lost. A NaN or an infinity is counted and does not hide
the finite values beside it, so both stay visible at every stride.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nbtrain.core.values.arrays import FloatArray, IntArray

LIMIT = 512
_WHOLE = np.array([0])  # the bounds of a single slice


class Reduced(NamedTuple):
    """Reduced values of slices; they can be joined to those of larger slices.

    Attributes:
        total: Sums of the finite values, float64 of shape (n,).
        lo, hi: Their minima and maxima, float64 of shape (n,). ∞ and −∞ if there are none.
        unseen: How many values are NaN, ∞ and −∞, int64 of shape (n, 3).
    """

    total: FloatArray
    lo: FloatArray
    hi: FloatArray
    unseen: IntArray

    def of(self, slices: slice) -> Reduced:
        """Returns the values of some of the slices."""
        return Reduced(self.total[slices], self.lo[slices], self.hi[slices], self.unseen[slices])

    def finished(self, sizes: FloatArray | IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Returns mean, minimum and maximum of the finite values; NaN where there are none.

        Args:
            sizes: The number of values of each slice; of shape (n,).
        """
        count = sizes - self.unseen.sum(axis=1)
        with np.errstate(invalid="ignore"):
            mean = self.total / count
        none = count == 0
        return mean, np.where(none, np.nan, self.lo), np.where(none, np.nan, self.hi)


@dataclass(frozen=True, slots=True)
class Buckets:
    """A copy of some buckets, for use in any thread.

    Attributes:
        stride: Points in a full bucket, a power of two.
        points: Points of the whole curve.
        start: Index of the first bucket here within the curve.
        steps: First step of every bucket, float64 of shape (n,).
        wall_times: Wall time of its first point, in seconds since the epoch, float64 of shape (n,).
        mean, lo, hi: Mean, minimum and maximum of the finite values of every bucket, float64 of
            shape (n,). NaN if it has none.
        unseen: How many of its values are NaN, ∞ and −∞, int64 of shape (n, 3).
    """

    stride: int
    points: int
    start: int
    steps: FloatArray
    wall_times: FloatArray
    mean: FloatArray
    lo: FloatArray
    hi: FloatArray
    unseen: IntArray

    @property
    def whole(self) -> slice:
        """The buckets whose means form a line, if the last one is included here.

        A partial last bucket is not included: the mean of a single point among means of many looks
        like a bend of the curve.
        """
        partial = len(self.mean) > 1 and self.points % self.stride > 0
        return slice(len(self.mean) - partial)


class BucketCurve:
    """The buckets of one growing curve; not thread-safe, its owner must lock it."""

    def __init__(self) -> None:
        self.stride = 1
        self.points = 0
        self._steps = np.empty(LIMIT)
        self._wall_times = np.empty(LIMIT)
        self._sum = np.empty(LIMIT)
        self._lo = np.empty(LIMIT)
        self._hi = np.empty(LIMIT)
        self._unseen = np.empty((LIMIT, 3), np.int64)

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
        new = reduced(values, starts)
        if where[0] < before:  # the first new points belong to the partial bucket
            with np.errstate(invalid="ignore", over="ignore"):
                for (column, join), part in zip(self._joined(), new, strict=True):
                    part[0] = join(part[0], column[where[0]])
        fresh = where >= before
        self._steps[where[fresh]] = steps[starts[fresh]]
        self._wall_times[where[fresh]] = wall_times[starts[fresh]]
        for (column, _), part in zip(self._joined(), new, strict=True):
            column[where] = part
        self.points += len(values)

    def view(self, start: int = 0, count: int | None = None) -> Buckets:
        """Copies `count` buckets from `start`; by default all."""
        part = slice(start, len(self) if count is None else min(start + count, len(self)))
        sizes = np.full(part.stop - part.start, self.stride, dtype=np.float64)
        if part.stop == len(self) and len(sizes) and self.points % self.stride:
            sizes[-1] = self.points % self.stride
        parts = Reduced(*(column[part] for column, _ in self._joined()))
        mean, lo, hi = parts.finished(sizes)
        return Buckets(
            self.stride,
            self.points,
            start,
            self._steps[part].copy(),
            self._wall_times[part].copy(),
            mean,
            lo,
            hi,
            self._unseen[part].copy(),
        )

    def cut(self, points: int, rest: FloatArray) -> None:
        """Drops the points after the first `points`.

        Args:
            rest: The kept values that do not fill a bucket; of shape (points % stride,).
        """
        self.points = points
        if len(rest):
            last = len(self) - 1
            for (column, _), (part,) in zip(self._joined(), reduced(rest, _WHOLE), strict=True):
                column[last] = part

    def fold(self) -> None:
        """Joins neighbours, so that there are half as many buckets of twice as many points."""
        count = len(self)
        pairs, odd = count // 2, count % 2
        left, right = slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2)
        with np.errstate(invalid="ignore", over="ignore"):
            for column, join in self._joined():
                column[:pairs] = join(column[left], column[right])
                column[pairs : pairs + odd] = column[count - odd : count]
        for first in (self._steps, self._wall_times):
            first[: pairs + odd] = first[0:count:2]
        self.stride *= 2

    def _joined(self) -> tuple[tuple[npt.NDArray[Any], np.ufunc], ...]:
        """The columns of a `Reduced`, and the functions that join two of their values."""
        return (
            (self._sum, np.add),
            (self._lo, np.minimum),
            (self._hi, np.maximum),
            (self._unseen, np.add),
        )


def reduced(values: FloatArray, bounds: IntArray) -> Reduced:
    """Reduces slices of values; `bounds` as in `np.ufunc.reduceat`."""
    finite = np.isfinite(values)
    low = high = total = values
    unseen = np.zeros((len(bounds), 3), np.int64)
    if not finite.all():
        total, low, high = (np.where(finite, values, none) for none in (0, np.inf, -np.inf))
        kinds = np.stack([np.isnan(values), values == np.inf, values == -np.inf], axis=1)
        unseen = np.add.reduceat(kinds, bounds, axis=0, dtype=np.int64)
    with np.errstate(invalid="ignore", over="ignore"):
        return Reduced(
            np.add.reduceat(total, bounds),
            np.minimum.reduceat(low, bounds),
            np.maximum.reduceat(high, bounds),
            unseen,
        )


def sparse(unseen: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Returns the rows of `Buckets.unseen` that count something, each after its index; (k, 4)."""
    rows = np.flatnonzero(unseen.any(axis=1))
    return np.column_stack([rows, unseen[rows]])
