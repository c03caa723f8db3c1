"""The current step of one attempt of a run, shared by all that count, save and restore."""

from __future__ import annotations


class StepCounter:
    """The current step of an attempt, and the number of steps taken; training thread only.

    Attributes:
        step: Steps completed, set by whoever has taken one. Any thread may read it.
    """

    __slots__ = ("_origin", "step")

    def __init__(self) -> None:
        self.step = self._origin = 0

    @property
    def steps_done(self) -> int:
        """The number of steps taken, whatever moved the count meanwhile. Any thread may read it."""
        return self.step - self._origin

    def move_to(self, step: int) -> None:
        """Sets the step without counting one as taken, for example after a restore."""
        self._origin += step - self.step
        self.step = step
