"""Decides which part of a run's past led to its present state; the rest is abandoned.

A start and a restore open a segment, which continues from an entry of another segment, its parent.
An entry counts if it lies on the path from the current segment back to the first one, and in each
parent before the beginning of the child. Entries are numbered in the order in which they are made;
no clock is used.

timeline = Timeline()
saved = timeline.add()          # an entry, such as a save
timeline.open(100, saved)       # a restore of what was saved then, at step 100
timeline.counts(100, saved)     # True: it led here
timeline.limits                 # {1: inf, 0: 100}: the last step that counts of each segment
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of training without going back.

    Attributes:
        begin: The number of its first entry, its opening.
        step: The step at which it begins.
        parent: The segment that it continues from; None for the first.
        last: The last entry of the parent that belongs to its past.
        wall_time: The time of its opening, in seconds since the epoch; 0 if unknown.
    """

    begin: int = 0
    step: int = 0
    parent: int | None = None
    last: float = math.inf
    wall_time: float = 0.0


class Timeline:
    """The segments of a run; one thread adds to it, any thread may read it.

    Attributes:
        order: The number of the newest entry.
    """

    def __init__(self) -> None:
        self.order = 0
        # All segments; and the last step and entry that count of each segment that counts, by its
        # number. Replaced together: another thread never sees a segment but still counts what the
        # segment has abandoned.
        self._known: tuple[tuple[Segment, ...], Mapping[int, tuple[float, float]]] = (
            (Segment(),),
            {0: (math.inf, math.inf)},
        )

    @property
    def segment(self) -> int:
        """The number of the current segment; the first is 0."""
        return len(self._known[0]) - 1

    @property
    def begins(self) -> list[int]:
        """The steps at which the segments began, except the first."""
        return [segment.step for segment in self._known[0][1:]]

    @property
    def limits(self) -> Mapping[int, float]:
        """The last step that counts of each segment; missing segments were abandoned."""
        return {segment: step for segment, (step, _) in self._known[1].items()}

    @property
    def continued(self) -> float:
        """The entry from which the current segment continues; infinity if it is unknown."""
        return self._known[0][-1].last

    def add(self) -> int:
        """Adds an entry, and returns its number."""
        self.order += 1
        return self.order

    @property
    def wall_time(self) -> float:
        """The time at which the current segment was opened; 0 if it is unknown."""
        return self._known[0][-1].wall_time

    def open(self, step: int, saved: int | None = None, wall_time: float = 0.0) -> None:
        """Begins a segment.

        Args:
            saved: The entry that it continues from. None if unknown: then the past up to the step
                counts.
            wall_time: The time, in seconds since the epoch; 0 if unknown.
        """
        segments, _ = self._known
        last, begin = math.inf if saved is None else saved, self.order + 1
        parent = _holder(segments, last)
        segments = (*segments, Segment(begin, step, parent, last, wall_time))
        self._known = segments, _past(segments, len(segments) - 1)
        self.order = begin  # last: with this number, another thread sees the segment too

    def opened_by(self, marks: Sequence[tuple[int, float]]) -> list[int] | None:
        """Returns the numbers of the segments whose beginnings are marked in event files.

        A segment has no mark if the process was killed before writing it. Marks of earlier versions
        have other times than their segments, so they are matched by their order alone.

        Args:
            marks: The step and the wall time of each mark.

        Returns:
            The numbers, or None if the segment of a mark is not known.
        """
        segments, _ = self._known
        at = {(each.step, each.wall_time): number for number, each in enumerate(segments)}
        found = [at.get((step, round(wall_time, 3))) for step, wall_time in marks]
        numbers = [number for number in found if number is not None]
        if len(numbers) == len(marks):
            return numbers
        steps = [step for step, _ in marks]
        in_order = self.begins[: len(marks)] == steps
        return list(range(1, len(marks) + 1)) if in_order else None

    def past(self, number: int) -> dict[int, tuple[float, float]]:
        """Returns the segments that led to a segment: the last step and entry of each that count.

        Args:
            number: The number of the segment; all of its own entries count.
        """
        return _past(self._known[0], number)

    def has_begun(self, step: int) -> bool:
        """Returns whether the current segment begins at this step and has no other entry yet."""
        now = self._known[0][-1]
        return (now.begin, now.step) == (self.order, step)

    def counts(self, step: int, order: float) -> bool:
        """Returns whether an entry led to the present state.

        Args:
            order: Its number; infinity for the newest.
        """
        segments, ends = self._known
        limit, end = ends.get(_holder(segments, order), (-1, -1))
        return step <= limit and order <= end

    def segment_of(self, order: float) -> int:
        """Returns the number of the segment to which an entry belongs."""
        return _holder(self._known[0], order)


def _holder(segments: Sequence[Segment], order: float) -> int:
    """Returns the number of the segment to which an entry belongs."""
    return bisect.bisect_right(segments, order, key=lambda segment: segment.begin) - 1


def _past(segments: Sequence[Segment], number: int) -> dict[int, tuple[float, float]]:
    """Returns the segments that led to one; see `Timeline.past`."""
    ends: dict[int, tuple[float, float]] = {}
    limit, end = math.inf, math.inf
    at: int | None = number
    while at is not None:
        ends[at] = limit, end
        segment = segments[at]
        limit, end, at = min(limit, segment.step), segment.last, segment.parent
    return ends
