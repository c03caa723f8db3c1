"""The current step of one attempt of a run, shared by all that count, save and restore."""

from __future__ import annotations

from collections.abc import Callable


class StepCounter:
    """The current step of an attempt, and the number of steps taken; training thread only.

    Attributes:
        step: Steps completed, set by whoever has taken one. Any thread may read it.
        complete: Waits for steps that other processes take, and counts them. It is called before
            anything that needs the state of one step.
    """

    __slots__ = ("_origin", "complete", "step")

    def __init__(self) -> None:
        self.step = self._origin = 0
        self.complete: Callable[[], object] = _nothing

    @property
    def steps_done(self) -> int:
        """The number of steps taken, whatever moved the count meanwhile. Any thread may read it."""
        return self.step - self._origin

    def move_to(self, step: int) -> None:
        """Sets the step without counting one as taken, for example after a restore."""
        self._origin += step - self.step
        self.step = step


def _nothing() -> None:
    """Waits for nothing: the steps are taken one after the other, in the training thread."""
