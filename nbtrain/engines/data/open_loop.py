"""A tracked loop that has begun and has not ended, of a program that may have others around it."""

from __future__ import annotations

from dataclasses import dataclass

from nbtrain.engines.data.passes import Passes
from nbtrain.engines.data.turns import Turns


@dataclass(slots=True)
class OpenLoop:
    """An open loop; training thread only.

    Attributes:
        source: Its elements.
        size: Their number; None if unknown.
        key: The numbers of the loops around it, and its own.
        before: Completed steps when its present pass began.
        again: Whether a loop that is not tracked is around it, or an earlier outermost loop was
            over the same data: others may follow.
        turn: The turn to which `inner` belongs.
        inner: Loops that have ended within this turn.
    """

    source: Passes | Turns
    size: int | None
    key: tuple[int, ...]
    before: int
    again: bool = False
    turn: int = 0
    inner: int = 0

    def next_inner(self) -> int:
        """Returns the number of the next loop within the present turn."""
        if self.turn != self.source.number:
            self.turn, self.inner = self.source.number, 0
        return self.inner
