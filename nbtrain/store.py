"""Every recorded scalar of one run, in compact columns.

The recorder's thread extends the store, any thread reads it. A restore opens a
new segment: what had been recorded beyond the restored step stays, marked as
abandoned.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nbtrain.buckets import LIMIT, BucketCurve, Buckets, FloatArray
from nbtrain.errors import UnknownTagError

IntArray = npt.NDArray[np.int64]

# Rows of one block: 196 kB, so that growing never copies and wastes at most that much.
_BLOCK = 8192

# A viewer may be this many of its shares behind, then the curve is folded; but not below
# so few buckets, nor below its part of LIMIT: of many curves each has fewer.
_BEHIND = 4
_FEWEST = 32


@dataclass(frozen=True, slots=True)
class Columns:
    """All points of one tag, in the order they were recorded.

    Attributes:
        steps: int64 of shape (n,): steps completed when the value was recorded.
        wall_times: float64 of shape (n,): seconds since the epoch.
        values: float64 of shape (n,).
        segments: int64 of shape (n,): 0 from the start on, one more after each restore. Below 0
            lies what an earlier run of this folder has recorded.
        abandoned: bool of shape (n,): whether the run went back behind the point since.
    """

    steps: IntArray
    wall_times: FloatArray
    values: FloatArray
    segments: IntArray
    abandoned: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        """How many points there are."""
        return len(self.values)


@dataclass(frozen=True, slots=True)
class Curve:
    """One tag within one segment, reduced to buckets for a display.

    Attributes:
        tag: The tag.
        segment: The segment, from 0; below that what was recalled.
        until: Points beyond this step were abandoned by a restore; None where none were.
        buckets: The points, reduced.
    """

    tag: str
    segment: int
    until: int | None
    buckets: Buckets


@dataclass(frozen=True, slots=True)
class Cursor:
    """What a viewer has seen of one curve.

    Attributes:
        stride: Points in a full bucket, at that time.
        full: How many full buckets it has.
        points: How many points these and the partial one held; -1 for not all there were.
    """

    stride: int = 1
    full: int = 0
    points: int = -1

    @classmethod
    def after(cls, buckets: Buckets) -> Cursor:
        """The cursor of a viewer that has just been handed these buckets."""
        end = buckets.start + len(buckets.steps)
        full = min(end, buckets.points // buckets.stride)
        everything = end * buckets.stride >= buckets.points
        return cls(buckets.stride, full, buckets.points if everything else -1)


class _Series:
    """The points of one tag in one segment: exact columns, and buckets."""

    def __init__(self, tag: str, segment: int) -> None:
        self.tag = tag
        self.segment = segment
        self.until: int | None = None
        self.curve = BucketCurve()
        self.last = float("nan")
        self.valid: float | None = None  # the last that was not abandoned
        self._steps: list[IntArray] = []
        self._rest: list[FloatArray] = []  # rows: wall time, value

    def extend(self, steps: IntArray, wall_times: FloatArray, values: FloatArray) -> None:
        offset, count = self.curve.points, len(values)
        self.curve.extend(steps, values)
        self.last = self.valid = float(values[-1])
        done = 0
        while done < count:
            row = (offset + done) % _BLOCK
            if row == 0:
                self._steps.append(np.empty(_BLOCK, np.int64))
                self._rest.append(np.empty((2, _BLOCK)))
            size = min(_BLOCK - row, count - done)
            part = slice(done, done + size)
            self._steps[-1][row : row + size] = steps[part]
            self._rest[-1][:, row : row + size] = wall_times[part], values[part]
            done += size

    def abandon(self, step: int) -> None:
        """What lies beyond this step counts no more."""
        self.until = step if self.until is None else min(step, self.until)
        used = (self.curve.points - 1) % _BLOCK + 1
        self.valid = None
        for steps, rest in zip(reversed(self._steps), reversed(self._rest), strict=True):
            rows = np.flatnonzero(steps[:used] <= self.until)
            if len(rows):
                self.valid = float(rest[1, rows[-1]])
                break
            used = _BLOCK

    def columns(self) -> tuple[IntArray, FloatArray]:
        used = self.curve.points
        return np.concatenate(self._steps)[:used], np.concatenate(self._rest, axis=1)[:, :used]


class ScalarStore(Mapping[str, Columns]):
    """Tags and their points: `store["loss"].values`."""

    def __init__(self) -> None:
        self._series: list[_Series] = []
        self._current: dict[str, _Series] = {}
        self._segment = 0
        self._least: int | None = None  # of the steps that segments began from
        self._lock = threading.Lock()  # protects all of the above

    def extend(self, tag: str, steps: IntArray, wall_times: FloatArray, values: FloatArray) -> None:
        """Add points of one tag to the segment at hand; all of shape (n,), n at least 1."""
        with self._lock:
            series = self._current.get(tag)
            stride = series.curve.stride if series is not None else None
            if series is None:
                series = self._current[tag] = _Series(tag, self._segment)
                self._series.append(series)
            series.extend(steps, wall_times, values)
            if series.curve.stride != stride:
                self._align(tag)

    def open_segment(self, step: int) -> None:
        """Begin a new segment from `step`: what lies beyond it is abandoned."""
        with self._lock:
            self._least = step if self._least is None else min(step, self._least)
            for series in self._series:
                series.abandon(step)
            if any(series.segment >= 0 for series in self._series):
                self._segment += 1
            self._current = {}

    def recall(self, earlier: ScalarStore) -> None:
        """Have what came before all of this; what this has gone back behind is abandoned.

        Args:
            earlier: It; not to be used any more.
        """
        with self._lock:
            for series in earlier._series:
                series.segment -= earlier._segment + 1
                if self._least is not None:
                    series.abandon(self._least)
            self._series += earlier._series
            for tag in {series.tag for series in earlier._series}:
                self._align(tag)

    def _align(self, tag: str) -> None:
        """Thin all parts of a tag alike: drawn as one line, it must not change its look between."""
        curves = [series.curve for series in self._series if series.tag == tag]
        stride = max(curve.stride for curve in curves)
        for curve in curves:
            while curve.stride < stride:
                curve.fold()

    def _in_order(self) -> list[_Series]:
        """By age; a viewer counts on the places, so what was recalled has the last ones."""
        return sorted(self._series, key=lambda series: series.segment)

    def last_values(self) -> dict[str, float]:
        """The last value of every tag, in the order the tags first came.

        It is of what was not abandoned, where the tag has such a value.
        """
        with self._lock:
            last = {series.tag: series.last for series in self._in_order()}
            valid = {s.tag: s.valid for s in self._in_order() if s.valid is not None}
            return last | valid

    def curves(self) -> list[Curve]:
        """Every tag and segment in the order in which they came, reduced for a display."""
        with self._lock:
            return [Curve(s.tag, s.segment, s.until, s.curve.view()) for s in self._series]

    def changes(
        self, cursors: Sequence[Cursor], budget: int, most: int | None = None, after: int = -1
    ) -> list[tuple[int, Curve]]:
        """What a viewer has not seen, within a budget.

        Args:
            cursors: What it has seen of each curve, in the order of `curves`; curves
                beyond their end are new to it.
            budget: Buckets to hand out at most, shared by the curves that changed; at
                least one each.
            most: Curves to hand out at most; None for all that changed.
            after: Index of the curve whose followers have their turn, where not all can.

        A viewer that the budget leaves behind is given a coarser curve, so that it sees
        the newest points: curves are folded until they can follow. Those that were recalled
        grow no more, and are handed out whole.

        Returns:
            Index and curve for each that changed, in turn; those new to the viewer come
            first. Its buckets begin where the viewer's full ones end (`buckets.start`),
            counted at the stride of today.
        """
        with self._lock:
            changed = []
            for index, series in enumerate(self._series):
                seen = cursors[index] if index < len(cursors) else Cursor()
                if (seen.points, seen.stride) != (series.curve.points, series.curve.stride):
                    changed.append((index, series, seen))
            changed.sort(key=lambda each: (each[0] < len(cursors), each[0] <= after))
            changed = changed[:most]
            share = max(1, budget // max(1, len(changed)))
            result = []
            fewest = max(_FEWEST, LIMIT // max(1, len(self._series)))
            for index, series, seen in changed:
                curve = series.curve
                start = seen.full * seen.stride // curve.stride
                grows = series.segment >= 0
                while grows and len(curve) - start > _BEHIND * share and len(curve) > fewest:
                    curve.fold()
                    start = seen.full * seen.stride // curve.stride
                    self._align(series.tag)
                view = curve.view(start, share if grows else None)
                result.append((index, Curve(series.tag, series.segment, series.until, view)))
            return result

    def untils(self) -> list[int | None]:
        """For each curve, the step beyond which it was abandoned; None where it was not."""
        with self._lock:
            return [series.until for series in self._series]

    def __getitem__(self, tag: str) -> Columns:
        """All points of a tag, copied.

        Raises:
            UnknownTagError: Nothing was recorded under this tag.
        """
        with self._lock:
            found = [series for series in self._in_order() if series.tag == tag]
            parts = [(series, *series.columns()) for series in found]
            untils = [np.inf if series.until is None else series.until for series in found]
        if not parts:
            known = ", ".join(map(repr, self)) or "none yet"
            raise UnknownTagError(f"No scalar has the tag {tag!r}; recorded so far: {known}.")
        steps = np.concatenate([part[1] for part in parts])
        rest = np.concatenate([part[2] for part in parts], axis=1)
        sizes = [len(part[1]) for part in parts]
        segments = np.repeat([part[0].segment for part in parts], sizes)
        return Columns(steps, rest[0], rest[1], segments, steps > np.repeat(untils, sizes))

    def __iter__(self) -> Iterator[str]:
        """The tags, in the order they first came."""
        return iter(self.last_values())

    def __len__(self) -> int:
        """How many tags there are."""
        return len(self.last_values())
