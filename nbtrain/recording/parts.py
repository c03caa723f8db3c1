"""The curves of a run as a display has them: in parts, reduced, and what a viewer has not seen.

Of each tag and segment what counts is one part, and what a restore abandoned another, a tail. All
parts of a tag are thinned alike: drawn as one line, it must not change its look where a part ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nbtrain.recording.buckets import LIMIT, BucketCurve, Buckets

# A viewer may be this many of its shares behind, then the curve is folded; but not below
# so few buckets, nor below its part of LIMIT: of many curves each has fewer.
_BEHIND = 4
_FEWEST = 32


@dataclass(frozen=True, slots=True)
class Curve:
    """What counts of one tag within one segment, or a tail of it, reduced for a display.

    Attributes:
        tag: The tag.
        segment: The segment, from 0; below that what was recalled.
        abandoned: Whether the run has gone back behind all of it.
        buckets: The points, reduced.
    """

    tag: str
    segment: int
    abandoned: bool
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

    def full_of(self, curve: BucketCurve) -> int:
        """How many of the full buckets of a curve the viewer has."""
        return min(self.full * self.stride, curve.points) // curve.stride


@dataclass(slots=True)
class Part:
    """What counts of one tag within one segment, or a tail of it.

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
        """Its buckets, so many from `start`; all by default."""
        return Curve(self.tag, self.segment, self.abandoned, self.curve.view(start, count))


class Parts:
    """All parts of a run's curves, each at its place for good; the owner holds the lock."""

    def __init__(self) -> None:
        self._parts: list[Part] = []

    def add(self, part: Part) -> None:
        """One more."""
        self._parts.append(part)
        self.align(part.tag)

    def end(self) -> None:
        """Nothing grows any more of what there is."""
        for part in self._parts:
            part.grows = False

    def recall(self, earlier: Parts, by: int) -> None:
        """Have those of an earlier run too, so many segments before their own numbers."""
        earlier.end()
        for part in earlier._parts:
            part.segment -= by
        self._parts += earlier._parts
        for tag in {part.tag for part in earlier._parts}:
            self.align(tag)

    def align(self, tag: str) -> None:
        """Thin all parts of a tag as the one that is thinned most."""
        curves = [part.curve for part in self._parts if part.tag == tag]
        stride = max(curve.stride for curve in curves)
        for curve in curves:
            while curve.stride < stride:
                curve.fold()

    def curves(self) -> list[Curve]:
        """All of them."""
        return [part.view() for part in self._parts]

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
        the newest points: curves are folded until they can follow. Those that grow no more, as
        they were abandoned or recalled, are handed out whole.

        Returns:
            Index and curve for each that changed, in turn; those new to the viewer come
            first. Its buckets begin where the viewer's full ones end (`buckets.start`),
            counted at the stride of today; what it has after these is no more.
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
        """Fold a curve until a viewer who is given so many buckets at a time can follow it."""
        growing = sum(part.grows for part in self._parts)
        fewest = max(_FEWEST, LIMIT // growing)
        curve = part.curve
        while len(curve) - seen.full_of(curve) > _BEHIND * share and len(curve) > fewest:
            curve.fold()
        self.align(part.tag)
