"""A front end in Python: it keeps the rules of the wire that panel.js keeps."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from nbtrain.rundir.journal import MOST_MARKS

FloatArray = npt.NDArray[np.float64]


@dataclass
class Series:
    """One curve, as a page holds it.

    Its rows are first step, mean, lo, hi, first wall time, and how many values are NaN, ∞ and −∞.
    """

    tag: str
    segment: int
    abandoned: bool = False
    stride: int = 1
    rows: FloatArray = field(default_factory=lambda: np.empty((0, 8)))

    def take(self, stride: int, start: int, rows: FloatArray) -> None:
        """Fold to the new stride, cut what is sent again, append."""
        while self.stride < stride:
            self.rows = folded(self.rows, self.stride)
            self.stride *= 2
        assert self.stride == stride, "a stride never shrinks"
        assert start <= len(self.rows), "a gap in the curve"
        self.rows = np.concatenate([self.rows[:start], rows])


def folded(rows: FloatArray, stride: int) -> FloatArray:
    """Neighbours joined in pairs: x and time of the first; mean, lowest, highest of the finite."""
    pairs = len(rows) // 2
    left, right = rows[0 : 2 * pairs : 2], rows[1 : 2 * pairs : 2]
    sums, counts = np.zeros(pairs), np.zeros(pairs)
    with np.errstate(invalid="ignore", over="ignore"):
        for part in (left, right):
            count = stride - part[:, 5:].sum(axis=1)
            sums += np.where(count > 0, count * part[:, 1], 0)
            counts += count
        joined = np.column_stack(
            [
                left[:, 0],
                sums / counts,
                np.fmin(left[:, 2], right[:, 2]),
                np.fmax(left[:, 3], right[:, 3]),
                left[:, 4],
                left[:, 5:] + right[:, 5:],
            ]
        )
    return np.concatenate([joined, rows[2 * pairs :]])


class FrontEnd:
    """A page that was sent messages of the wire."""

    def __init__(self) -> None:
        self.seq: int | None = None
        self.status: dict[str, Any] = {}
        self.series: list[Series] = []
        self.marks: deque[list[Any]] = deque(maxlen=MOST_MARKS)
        self.numbers: deque[int] = deque(maxlen=MOST_MARKS)  # of the marks, over all there were
        self.marked = 0
        self.abandoned: list[list[int]] = []
        self.actions: dict[int, list[Any]] = {}  # by the number of the mark
        self.hellos = 0

    @property
    def left(self) -> list[int]:
        """Steps of the marks that are abandoned."""
        return [
            row[1]
            for number, row in zip(self.numbers, self.marks, strict=True)
            if any(begin <= number < end for begin, end in self.abandoned)
        ]

    def receive(self, content: dict[str, Any], buffers: Sequence[bytes]) -> None:
        """Take a snapshot or an increment; a gap asks for a snapshot instead."""
        known = decoded(content, buffers), wall_times(content, buffers), unseen(buffers)
        rows = np.column_stack(known)
        if content["t"] == "snap":
            self.seq, self.status = content["seq"], dict(content["status"])
            self.series = []
            self.actions = {}
            self.marks.clear()
            self.numbers.clear()
            for entry in content["series"]:
                part, rows = rows[: entry["n"]], rows[entry["n"] :]
                series = Series(entry["tag"], entry["segment"], entry["abandoned"])
                series.stride, series.rows = entry["stride"], part
                self.series.append(series)
        elif self.seq is None or content["seq"] > self.seq + 1:
            self.seq = None
            self.hellos += 1
            return
        elif content["seq"] == self.seq + 1:
            self.seq = content["seq"]
            last = self.status.get("last", {}) | content["status"].get("last", {})
            self.status |= content["status"]
            if last:
                self.status["last"] = last
            for index, stride, start, count, *new in content["series"]:
                if new:
                    assert index == len(self.series), "a new curve takes the next index"
                    self.series.append(Series(*new))
                part, rows = rows[:count], rows[count:]
                self.series[index].take(stride, start, part)
        else:
            return
        self._mark(content)
        assert not len(rows), "buckets that belong to no curve"

    def _mark(self, content: dict[str, Any]) -> None:
        """Take marks, and what is new about them."""
        self.marked = content.get("marked", self.marked)
        marks = content.get("marks", [])
        self.marks.extend(marks)
        self.numbers.extend(range(self.marked - len(marks), self.marked))
        self.abandoned = content.get("abandoned", self.abandoned)
        held = self.actions | dict(content.get("actions", []))
        first = self.numbers[0] if self.numbers else self.marked
        self.actions = {number: actions for number, actions in held.items() if number >= first}


def decoded(content: dict[str, Any], buffers: Sequence[bytes]) -> FloatArray:
    """The first two buffers as rows of first step, mean, lo, hi."""
    steps = np.frombuffer(buffers[0], "<f8")[places(content, len(buffers[0]) // 8)]
    values = np.frombuffer(buffers[1], "<f4").reshape(-1, 3)
    assert len(steps) == len(values)
    return np.column_stack([steps, values.astype(np.float64)])


def wall_times(content: dict[str, Any], buffers: Sequence[bytes]) -> FloatArray:
    """The wall times of the first points of the buckets, from the third buffer."""
    since = np.frombuffer(buffers[2], "<f4").astype(np.float64)
    origin: float = content.get("origin", 0)
    return since[places(content, len(since))] + origin


def places(content: dict[str, Any], sent: int) -> list[int]:
    """The place of each bucket's step among those that were sent."""
    found: list[int] = []
    first = end = 0
    for number, entry in enumerate(content["series"]):
        count = entry["n"] if isinstance(entry, dict) else entry[3]
        if "own" not in content or number in content["own"]:
            first, end = end, end + count
        found += range(first, first + count)
    assert end == sent
    return found


def unseen(buffers: Sequence[bytes]) -> FloatArray:
    """How many values of each bucket are NaN, ∞ and −∞, from the fourth buffer."""
    counts = np.zeros((len(buffers[1]) // 12, 3))
    for index, *found in np.frombuffer(buffers[3], "<u4").reshape(-1, 4):
        counts[index] = found
    return counts
