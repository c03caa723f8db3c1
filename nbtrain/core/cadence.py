"""Decides when a periodic action is due: at each multiple of N steps, every S seconds."""

from __future__ import annotations

from numbers import Real

from nbtrain.core.errors import ArgumentError


class Every:
    """Decides when an action is due: at multiples of `steps` steps, and every `secs` seconds.

    Steps count over the whole run, so a run that is often interrupted acts at the same steps as an
    unbroken one. Seconds count from the start and from each time that the action is due. Called
    once a step with the clock as an argument. After a long pause, the action is due once, however
    many multiples were passed.

        due = Every(steps=100, secs=60.0)
        due.start(step=0, now=time.monotonic())
        if due(step, time.monotonic()): ...

    Args:
        steps: The action is due at the multiples of this number, at least 1; None disables steps.
        secs: Seconds between two actions, above 0; None or 0 disables seconds (0 as in TensorFlow's
            Supervisor).
        at_once: Whether the action is first due at once, as timed services of TensorFlow's
            Supervisor are.

    Attributes:
        next_step: The step at which the action is due, whatever the clock says; infinity for none.

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
        """Counts from `step` and `now` (seconds of any clock that never goes backwards)."""
        self.next_step = step - step % self._steps + self._steps if self._steps else float("inf")
        self._next_time = now + self._secs if self._secs else float("inf")
        if self._at_once:
            self._next_time = now

    def soon(self, step: int, now: float) -> bool:
        """Returns whether the action is due at `step` and `now`; changes nothing."""
        return step >= self.next_step or now >= self._next_time

    def __call__(self, step: int, now: float) -> bool:
        """Returns whether the action is due at `step` and `now`; if so, counts from there."""
        if not self.soon(step, now):
            return False
        self._at_once = False
        self.start(step, now)
        return True


def _is_count(steps: object) -> bool:
    """Returns whether `steps` is a whole number of at least 1, even as a float."""
    if isinstance(steps, bool) or not isinstance(steps, Real):
        return False
    return 1 <= float(steps) < float("inf") and float(steps).is_integer()
