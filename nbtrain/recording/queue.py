"""The queue of records that wait to leave the training thread.

The queue is flat: a record is its tags (one tuple, shared by all similar records), its step, its
wall time and its values, one after the other. So Python's garbage collector has nothing to inspect
in a thousand waiting records. With a tuple and a dict for each record, the collector sometimes
stopped the training for 0.2 s.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, SupportsFloat

Values = Mapping[str, SupportsFloat]
Tags = tuple[str, ...]
Point = tuple[int, float, float]  # step, wall time, value

# At most about 20 MB of waiting records; at 10 drains a second, 650,000 steps a second.
LIMIT = 65_536


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """Consecutive records with the same tags.

    Attributes:
        tags: Their tags.
        steps: The step of each record.
        wall_times: The wall time of each, in seconds since the epoch.
        columns: The values of each tag, as recorded.
    """

    tags: Tags
    steps: Sequence[int]
    wall_times: Sequence[float]
    columns: Sequence[Sequence[SupportsFloat]]


@dataclass(frozen=True, slots=True)
class SegmentMark:
    """The run continues from `step`.

    Attributes:
        step: The step.
        wall_time: Seconds since the epoch.
        limits: As in `Timeline.limits`; None if unknown.
        marked: Whether the event file gets a mark.
    """

    step: int
    wall_time: float
    limits: Mapping[int, float] | None = None
    marked: bool = True


class RecordQueue:
    """Records in order, from the training thread to the thread that drains them.

    Args:
        number: Converts the value of a tag at a step to a float, if records must be thinned.
        limit: Waiting records of one tag; fewer with more tags. Beyond it, only the first, last,
            lowest and highest of each tag are kept until the next `get_all`, and one NaN, ∞ and −∞
            each if there were some.

    Attributes:
        thinned: The number of records that were not kept whole.
        items: The waiting items. To save time, the training thread may add a record's tags (from
            `tags_of`), step, wall time and values directly.
        most_items: The most items that may be added directly; beyond that, `append` thins.
    """

    def __init__(self, number: Callable[[str, int, Any], float], *, limit: int = LIMIT) -> None:
        self.thinned = 0
        self._number = number
        self.most_items = 4 * limit  # a record with one tag has tags, step, wall time, value
        self.items: deque[Any] = deque()
        self._known: dict[Tags, Tags] = {}
        self._extremes: dict[str, _Extremes] = {}
        self._thinning = threading.Lock()  # protects `_extremes`

    def append(self, step: int, wall_time: float, values: Values) -> None:
        """Adds a whole record; never blocks. Any thread may call it."""
        items = self.items
        if len(items) >= self.most_items:
            self._thin(step, wall_time, values)
            return
        tags = tuple(values)
        items.extend((self._known.setdefault(tags, tags), step, wall_time, *values.values()))

    def tags_of(self, values: Values) -> Tags:
        """Returns the tags of a record: one shared tuple for equal tags. Any thread may call it."""
        tags = tuple(values)
        return self._known.setdefault(tags, tags)

    @property
    def tags(self) -> frozenset[str]:
        """All tags that were recorded here. Any thread may read it."""
        return frozenset(tag for tags in list(self._known) for tag in tags)

    def mark(self, segment: SegmentMark) -> None:
        """Adds the mark that a segment begins; training thread only."""
        for tag, point in self._thinned_points():  # these came before the mark
            self.items.extend((self.tags_of({tag: 0.0}), *point))
        self.items.extend((None, segment))

    def get_all(self) -> list[RecordBatch | SegmentMark]:
        """Returns everything that waits, in order; one thread at a time."""
        items = [self.items.popleft() for _ in range(len(self.items))]
        batches = list(_batches(items))
        for tag, (step, wall_time, value) in self._thinned_points():
            batches.append(RecordBatch((tag,), [step], [wall_time], [[value]]))
        return batches

    def _thin(self, step: int, wall_time: float, values: Values) -> None:
        with self._thinning:
            self.thinned += 1
            for tag, value in values.items():
                point = (step, wall_time, self._number(tag, step, value))
                if tag in self._extremes:
                    self._extremes[tag].add(point)
                else:
                    self._extremes[tag] = _Extremes(point)

    def _thinned_points(self) -> list[tuple[str, Point]]:
        with self._thinning:
            extremes, self._extremes = self._extremes, {}
        return [(tag, point) for tag, kept in extremes.items() for point in kept.points()]


class _Extremes:
    """The records of one tag that are kept while the queue is full."""

    def __init__(self, point: Point) -> None:
        self._first = self._last = self._lowest = self._highest = point
        self._others: dict[str, Point] = {}  # the last NaN and the last of each infinity
        self.add(point)

    def add(self, point: Point) -> None:
        self._last = point
        if not math.isfinite(point[2]):
            self._others[str(point[2])] = point  # stays visible, and hides no finite value
            return
        if point[2] < self._lowest[2] or not math.isfinite(self._lowest[2]):
            self._lowest = point
        if point[2] > self._highest[2] or not math.isfinite(self._highest[2]):
            self._highest = point

    def points(self) -> list[Point]:
        extremes = (self._first, self._lowest, self._highest, self._last)
        return sorted({*extremes, *self._others.values()})


def _batches(items: Sequence[Any]) -> Iterator[RecordBatch | SegmentMark]:
    begin = 0
    while begin < len(items):
        tags = items[begin]
        if tags is None:
            yield items[begin + 1]
            begin += 2
            continue
        width = 3 + len(tags)
        end = begin + width
        while end < len(items) and items[end] is tags:
            end += width
        step, wall_time, *columns = (items[begin + 1 + i : end : width] for i in range(width - 1))
        yield RecordBatch(tags, step, wall_time, columns)
        begin = end


def by_tag(batches: Sequence[RecordBatch]) -> list[RecordBatch]:
    """Groups the same records by tag."""
    merged: dict[str, tuple[list[int], list[float], list[SupportsFloat]]] = {}
    for batch in batches:
        for tag, values in zip(batch.tags, batch.columns, strict=True):
            steps, walls, column = merged.setdefault(tag, ([], [], []))
            steps.extend(batch.steps)
            walls.extend(batch.wall_times)
            column.extend(values)
    return [RecordBatch((tag,), steps, walls, [col]) for tag, (steps, walls, col) in merged.items()]
