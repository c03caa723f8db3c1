"""How fast the steps come: a speed over the last seconds."""

from __future__ import annotations

from collections import deque

# Seconds that the speed looks back: long enough to be calm, short enough to follow.
WINDOW_SECS = 5.0


class Pace:
    """Steps a second over a sliding window; the clock is an argument.

    A pause, or a restore to an earlier step, makes it start anew.
    """

    def __init__(self) -> None:
        self._marks: deque[tuple[float, int]] = deque()

    def update(self, step: int, now: float) -> None:
        """Note that `step` steps were completed at `now` (seconds)."""
        if self._marks and step < self._marks[-1][1]:
            self._marks.clear()
        self._marks.append((now, step))
        while len(self._marks) > 2 and now - self._marks[1][0] >= WINDOW_SECS:
            self._marks.popleft()

    def reset(self) -> None:
        """Forget the past: the training thread stands still."""
        self._marks.clear()

    @property
    def steps_per_s(self) -> float | None:
        """Steps a second; None before two moments are known."""
        if len(self._marks) < 2:
            return None
        (then, before), (now, step) = self._marks[0], self._marks[-1]
        return (step - before) / (now - then) if now > then else None
