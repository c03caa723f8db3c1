"""Stores every recorded scalar of one run, in compact columns.

The recorder's thread extends the store, any thread reads it. A restore opens a new segment. Points
that did not lead to the segment stay, marked as abandoned. If the run goes back to these points,
they count again.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nbtrain.core.errors import UnknownTagError
from nbtrain.core.text.text_table import counted
from nbtrain.core.values.arrays import FloatArray, IntArray
from nbtrain.logdir.series import Series
from nbtrain.recording.buckets import BucketCurve
from nbtrain.recording.parts import Cursor, Curve, Part, Parts


@dataclass(frozen=True, slots=True)
class Columns:
    """All points of one tag, in the order in which they were recorded.

    Attributes:
        steps: int64 of shape (n,): steps completed when the value was recorded.
        wall_times: float64 of shape (n,): seconds since the epoch.
        values: float64 of shape (n,).
        segments: int64 of shape (n,): 0 from the start on, one more after each restore. Negative
            for points recorded by an earlier run in this folder.
        abandoned: bool of shape (n,): whether the run later went back to before the point.
    """

    steps: IntArray
    wall_times: FloatArray
    values: FloatArray
    segments: IntArray
    abandoned: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        """The number of points."""
        return len(self.values)


class _Series(Series):
    """The points of one tag in one segment: exact columns, and the buckets of the kept points."""

    def __init__(self, tag: str, segment: int) -> None:
        super().__init__()
        self.tag = tag
        self.segment = segment
        self.until = math.inf  # points beyond this step were abandoned
        self.curve = BucketCurve()
        self.last = float("nan")
        self.valid: float | None = None  # the last that was not abandoned
        self.valid_step = -1  # its step
        self._top = -1  # no point that counts lies beyond this step
        self._tails: list[BucketCurve] = []  # of abandoned points

    def extend(self, steps: IntArray, wall_times: FloatArray, values: FloatArray) -> None:
        super().extend(steps, wall_times, values)
        self.curve.extend(steps, wall_times, values)
        self.last = self.valid = float(values[-1])
        self.valid_step = int(steps[-1])
        self._top = max(self._top, int(steps.max()))

    def cut(self, until: float) -> BucketCurve | None:
        """Abandons the points beyond this step; returns a new tail, if there is one.

        Points in tails count again if the run went back to a checkpoint after them.
        """
        again, self.until = until > self.until and bool(self._tails), until
        if self._top <= until and not again:
            return None
        steps, wall_times, values = self.rows()
        counted, count = self.curve.points, int(np.argmax(np.append(steps, np.inf) > until))
        if count > counted:
            part = slice(counted, count)
            self.curve.extend(steps[part], wall_times[part], values[part])
            for tail in self._tails:
                tail.cut(0, values[:0])
            counted = len(steps)
        elif count < counted:
            self.curve.cut(count, values[count - count % self.curve.stride : count])
        self._top = int(steps[:count].max(initial=-1))
        self.valid = float(values[count - 1]) if count else None
        self.valid_step = int(steps[count - 1]) if count else -1
        if count == counted:
            return None
        self._tails.append(tail := BucketCurve())
        part = slice(count, counted)
        tail.extend(steps[part], wall_times[part], values[part])
        return tail


class ScalarStore(Mapping[str, Columns]):
    """Tags and their points: `store["loss"].values`.

    Attributes:
        generation: How often it was cleared.
    """

    def __init__(self) -> None:
        self.generation = 0
        self._begin()
        self._lock = threading.Lock()  # protects all of these

    def _begin(self) -> None:
        self._series: list[_Series] = []
        self._parts = Parts()
        self._current: dict[str, _Series] = {}
        self._segment = 0
        self._first = 0  # the timeline's number of segment 0
        self._recalled = 0  # added to the number of a recalled segment, for that in the timeline
        self._known = 0  # the first segment in the timeline
        self._limits: Mapping[int, float] | None = None  # the last step that counts, by segment
        self._least = math.inf  # of the steps at which segments began

    def clear(self) -> None:
        """Drops all points, because another run has begun; a viewer must begin again too."""
        with self._lock:
            self._begin()
            self.generation += 1

    def extend(self, tag: str, steps: IntArray, wall_times: FloatArray, values: FloatArray) -> None:
        """Adds points of one tag to the current segment; all of shape (n,), n at least 1."""
        with self._lock:
            series = self._current.get(tag)
            if series is None:
                series = self._current[tag] = _Series(tag, self._segment)
                self._series.append(series)
                self._parts.add(Part(tag, self._segment, series.curve, grows=True))
            stride = series.curve.stride
            series.extend(steps, wall_times, values)
            if series.curve.stride != stride:
                self._parts.align(tag)

    def open_segment(self, step: int, limits: Mapping[int, float] | None = None) -> None:
        """Begins a new segment from `step`.

        Args:
            limits: As in `Timeline.limits`. None if unknown: then the points beyond the step are
                abandoned.
        """
        with self._lock:
            own = any(series.segment >= 0 for series in self._series)
            if limits is None:
                self._segment += own
            else:
                self._first = self._first if own else max(limits)
                self._segment = max(limits) - self._first
            self._limits, self._least = limits, min(step, self._least)
            for series in self._series:
                self._cut(series, step)
            self._current = {}
            self._parts.end()

    def recall(self, earlier: ScalarStore, *, known: bool = False) -> None:
        """Puts earlier points before the present ones; abandons those beyond the present start.

        Args:
            earlier: The store of the earlier points, which must not be used afterwards.
            known: Whether its segments are those of the run's timeline.
        """
        with self._lock:
            by = earlier._segment + 1
            self._known, self._recalled = -by if known else 0, by + earlier._first
            self._parts.recall(earlier._parts, by)
            for series in earlier._series:
                series.segment -= by
                self._cut(series, self._least)
            self._series += earlier._series

    def _cut(self, series: _Series, step: float) -> None:
        """Moves points that no longer count to a separate part."""
        until = min(series.until, step)
        if self._limits is not None and series.segment >= self._known:
            first = self._first if series.segment >= 0 else self._recalled
            until = self._limits.get(series.segment + first, -1)
        tail = series.cut(until)
        if tail is not None:
            self._parts.add(Part(series.tag, series.segment, tail, abandoned=True))
        self._parts.align(series.tag)

    def _in_order(self) -> list[_Series]:
        """Returns the series by age; recalled ones have the last indices, on which viewers rely."""
        return sorted(self._series, key=lambda series: series.segment)

    def last_values(self) -> dict[str, float]:
        """The last value of every tag, in the order in which the tags first appeared.

        Abandoned values are used only for tags that have no other.
        """
        with self._lock:
            last = {series.tag: series.last for series in self._in_order()}
            valid = {s.tag: s.valid for s in self._in_order() if s.valid is not None}
            return last | valid

    def earlier_steps(self) -> dict[str, int]:
        """The steps of last values from an earlier segment, by tag.

        Empty until something newer is recorded in this segment. A cell shows these steps, because
        all values would otherwise seem equally new.
        """
        with self._lock:
            newest = max((series.valid_step for series in self._current.values()), default=-1)
            last = {s.tag: s for s in self._in_order() if s.valid is not None}
            return {
                tag: series.valid_step
                for tag, series in last.items()
                if series.segment < self._segment and series.valid_step < newest
            }

    def curves(self) -> list[Curve]:
        """Returns the kept curve of every tag and segment, and the tails, oldest first."""
        with self._lock:
            return self._parts.curves()

    def changes(
        self, cursors: Sequence[Cursor], budget: int, most: int | None = None, after: int = -1
    ) -> list[tuple[int, Curve]]:
        """Returns the buckets that a viewer has not seen, within a budget: see `Parts.changes`."""
        with self._lock:
            return self._parts.changes(cursors, budget, most, after)

    def __getitem__(self, tag: str) -> Columns:
        """Returns a copy of all points of a tag.

        Raises:
            UnknownTagError: Nothing was recorded under this tag.
        """
        with self._lock:
            found = [series for series in self._in_order() if series.tag == tag]
            parts = [(*series.rows(), series.segment, series.until) for series in found]
        if not parts:
            known = ", ".join(map(repr, self)) or "none yet"
            raise UnknownTagError(f"No scalar has the tag {tag!r}; recorded so far: {known}.")
        steps, wall_times, values = (np.concatenate([part[i] for part in parts]) for i in range(3))
        sizes = [len(part[0]) for part in parts]
        segments, untils = (np.repeat([part[i] for part in parts], sizes) for i in (3, 4))
        return Columns(steps, wall_times, values, segments, steps > untils)

    def __iter__(self) -> Iterator[str]:
        """Yields the tags, in the order in which they first appeared."""
        return iter(self.last_values())

    def __repr__(self) -> str:
        """Returns one line for each tag, with the number of its points and its last value."""
        last, counts = self.last_values(), dict[str, int]()
        with self._lock:
            for series in self._series:
                counts[series.tag] = counts.get(series.tag, 0) + series.count
        lines = [
            f"{tag}: {counted(counts[tag], 'point')}, last {value:.6g}"
            for tag, value in last.items()
        ]
        return "\n".join(lines) or "no scalars yet"

    def __len__(self) -> int:
        """The number of tags."""
        return len(self.last_values())
