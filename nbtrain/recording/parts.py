"""The curves of a run for display: in parts, reduced, and as increments for a viewer.

For each tag and segment, the kept points are one part. The points abandoned by a restore are
another part, a tail. All parts of a tag have the same stride, so that a line through them looks the
same throughout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nbtrain.recording.buckets import LIMIT, BucketCurve, Buckets

# A curve is folded if a viewer is more than `_BEHIND` of its shares behind. A curve keeps at least
# `_FEWEST` buckets, or its share of LIMIT if there are few curves.
_BEHIND = 4
_FEWEST = 32


@dataclass(frozen=True, slots=True)
class Curve:
    """The kept points of one tag within one segment, or a tail, reduced for display.

    Attributes:
        tag: The tag.
        segment: The segment, from 0; recalled ones are negative.
        abandoned: Whether all its points were abandoned.
        buckets: The points, reduced.
    """

    tag: str
    segment: int
    abandoned: bool
    buckets: Buckets


@dataclass(frozen=True, slots=True)
class Cursor:
    """The part of a curve that a viewer has seen.

    Attributes:
        stride: Points in a full bucket at that time.
        full: The number of full buckets that it has.
        points: The number of points in these and the partial one; -1 if not all were sent.
    """

    stride: int = 1
    full: int = 0
    points: int = -1

    @classmethod
    def after(cls, buckets: Buckets) -> Cursor:
        """Returns the cursor of a viewer that has just received these buckets."""
        end = buckets.start + len(buckets.steps)
        full = min(end, buckets.points // buckets.stride)
        everything = end * buckets.stride >= buckets.points
        return cls(buckets.stride, full, buckets.points if everything else -1)

    def full_of(self, curve: BucketCurve) -> int:
        """The number of full buckets of a curve that the viewer has."""
        return min(self.full * self.stride, curve.points) // curve.stride


@dataclass(slots=True)
class Part:
    """The kept points of one tag within one segment, or a tail.

    Attributes:
        tag: The tag.
        segment: The segment.
        curve: The points.
        abandoned: Whether it is a tail.
        grows: Whether more points may come.
    """

    tag: str
    segment: int
    curve: BucketCurve
    abandoned: bool = False
    grows: bool = False

    def view(self, start: int = 0, count: int | None = None) -> Curve:
        """Returns `count` of its buckets from `start`; all by default."""
        return Curve(self.tag, self.segment, self.abandoned, self.curve.view(start, count))


class Parts:
    """All parts of a run's curves, each with a fixed index; the owner must lock it."""

    def __init__(self) -> None:
        self._parts: list[Part] = []

    def add(self, part: Part) -> None:
        """Adds a part."""
        self._parts.append(part)
        self.align(part.tag)

    def end(self) -> None:
        """Marks all existing parts as complete."""
        for part in self._parts:
            part.grows = False

    def recall(self, earlier: Parts, by: int) -> None:
        """Adds the parts of an earlier run, with segment numbers lowered by `by`."""
        earlier.end()
        for part in earlier._parts:
            part.segment -= by
        self._parts += earlier._parts
        for tag in {part.tag for part in earlier._parts}:
            self.align(tag)

    def align(self, tag: str) -> None:
        """Folds all parts of a tag to the largest of their strides."""
        curves = [part.curve for part in self._parts if part.tag == tag]
        stride = max(curve.stride for curve in curves)
        for curve in curves:
            while curve.stride < stride:
                curve.fold()

    def curves(self) -> list[Curve]:
        """Returns all curves."""
        return [part.view() for part in self._parts]

    def changes(
        self, cursors: Sequence[Cursor], budget: int, most: int | None = None, after: int = -1
    ) -> list[tuple[int, Curve]]:
        """Returns the buckets that a viewer has not seen, within a budget.

        Args:
            cursors: What it has seen of each curve, in the order of `curves`; curves beyond their
                end are new to it.
            budget: The most buckets to return, shared by the curves that changed; at least one
                each.
            most: The most curves to return; None for all that changed.
            after: Index of the curve after which the rotation continues, if not all curves fit.

        If the budget leaves a viewer behind, curves are folded until it can follow, so that it sees
        the newest points. Abandoned and recalled curves, which no longer grow, are returned whole.

        Returns:
            Index and curve for each that changed, in rotation; new ones first. Its buckets begin
            where the viewer's full buckets end (`buckets.start`, at the current stride), and
            replace all later buckets of the viewer.
        """
        changed = []
        for index, part in enumerate(self._parts):
            seen = cursors[index] if index < len(cursors) else Cursor()
            if (seen.points, seen.stride) != (part.curve.points, part.curve.stride):
                changed.append((index, part, seen))
        changed.sort(key=lambda each: (each[0] < len(cursors), each[0] <= after))
        changed = changed[:most]
        share = max(1, budget // max(1, len(changed)))
        for _, part, seen in changed:
            if part.grows:
                self._follow(part, seen, share)
        return [
            (index, part.view(seen.full_of(part.curve), share if part.grows else None))
            for index, part, seen in changed
        ]

    def _follow(self, part: Part, seen: Cursor, share: int) -> None:
        """Folds a curve until a viewer that receives `share` buckets at a time can follow it."""
        growing = sum(part.grows for part in self._parts)
        fewest = max(_FEWEST, LIMIT // growing)
        curve = part.curve
        while len(curve) - seen.full_of(curve) > _BEHIND * share and len(curve) > fewest:
            curve.fold()
        self.align(part.tag)
