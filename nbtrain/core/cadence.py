"""Decides when a periodic action is due: at each multiple of N steps, every S seconds."""

from __future__ import annotations

from numbers import Real

from nbtrain.core.errors import ArgumentError


class Every:
    """Due at each multiple of `steps` steps, and every `secs` seconds.

    The steps are those of the whole run, so that a run that is often interrupted has its occasions
    at the same steps as an unbroken one. The seconds count from the start and from each occasion.
    Called once a step with the clock as an argument. It is due once after a long pause, however
    many multiples were passed.

        due = Every(steps=100, secs=60.0)
        due.start(step=0, now=time.monotonic())
        if due(step, time.monotonic()): ...

    Args:
        steps: The steps of an occasion are the multiples of this number, at least 1; None for none
            by steps.
        secs: Seconds between two occasions, above 0; None or 0 for none by time (0 disables, as in
            TensorFlow's Supervisor).
        at_once: Whether it is first due at once, as timed services of TensorFlow's Supervisor are.

    Attributes:
        next_step: The step at which it is due whatever the clock says; infinity for none.

    Raises:
        ArgumentError: A value is out of range.
    """

    def __init__(
        self, *, steps: int | None = None, secs: float | None = None, at_once: bool = False
    ) -> None:
        if steps is not None and not _is_count(steps):
            raise ArgumentError(f"steps={steps!r}: give a whole number of at least 1, or None.")
        if secs is not None and not secs >= 0:
            raise ArgumentError(f"secs={secs!r}: give seconds above 0, or None for never.")
        self._steps = steps
        self._secs = secs or None
        self._at_once = at_once
        self.next_step = self._next_time = float("inf")

    def start(self, step: int, now: float) -> None:
        """Goes on from `step` and `now` (seconds of any clock that never goes backwards)."""
        self.next_step = step - step % self._steps + self._steps if self._steps else float("inf")
        self._next_time = now + self._secs if self._secs else float("inf")
        if self._at_once:
            self._next_time = now

    def soon(self, step: int, now: float) -> bool:
        """Returns whether it is due at `step` and `now`, without going on from there."""
        return step >= self.next_step or now >= self._next_time

    def __call__(self, step: int, now: float) -> bool:
        """Returns whether it is due at `step` and `now`; if so, goes on from there."""
        if not self.soon(step, now):
            return False
        self._at_once = False
        self.start(step, now)
        return True


def _is_count(steps: object) -> bool:
    """Returns whether it is a whole number of at least 1, even as a float."""
    if isinstance(steps, bool) or not isinstance(steps, Real):
        return False
    return 1 <= float(steps) < float("inf") and float(steps).is_integer()
