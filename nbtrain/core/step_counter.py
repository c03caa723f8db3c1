"""The step that one attempt of a run is at, shared by all that count, save and restore."""

from __future__ import annotations


class StepCounter:
    """The step that an attempt is at, and how many it has taken; training thread only.

    Attributes:
        step: Steps completed. Whoever has taken one sets it; any thread may read it.
    """

    __slots__ = ("_origin", "step")

    def __init__(self) -> None:
        self.step = self._origin = 0

    @property
    def steps_done(self) -> int:
        """Steps taken, wherever the count was moved meanwhile; any thread."""
        return self.step - self._origin

    def move_to(self, step: int) -> None:
        """Be at this step without having taken one, as after a restore."""
        self._origin += step - self.step
        self.step = step
