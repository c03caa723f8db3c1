"""Measures the speed of a training."""

from __future__ import annotations

from collections import deque

# Seconds of the sliding window of the speed: long enough for a calm speed, short enough to follow
# changes.
WINDOW_SECS = 5.0

# A step that takes longer than this, and twice as long as usual, is slow.
SLOW_SECS = 1.0


class Throughput:
    """Steps per second over a sliding window; the clock is an argument.

    Only updates with a new step count, so that the speed of long steps is calm. The count starts
    at the first completed step, because this step may have built the model. It starts again after
    a pause, and after a session has gone back by itself.
    """

    def __init__(self) -> None:
        self.began = self.ended = 0.0
        self._marks: deque[tuple[float, int]] = deque()
        self._seen: int | None = None  # the step before the first mark
        self._now = 0.0

    def update(self, step: int, now: float) -> None:
        """Notes that `step` steps in total were completed at `now` (seconds)."""
        self._now = now
        before = self._marks[-1][1] if self._marks else self._seen
        if before is None or step < before:
            self._marks.clear()
            self._seen = step
        elif step > before:
            self._marks.append((now, step))
            while len(self._marks) > 2 and now - self._marks[1][0] >= WINDOW_SECS:
                self._marks.popleft()

    def elapsed(self, now: float) -> float:
        """Returns the seconds from the start until now, or until the end."""
        return (self.ended or now) - self.began if self.began else 0.0

    def reset(self) -> None:
        """Clears the window, because the training thread is not training."""
        self._marks.clear()
        self._seen = None

    @property
    def steps_per_s(self) -> float | None:
        """Steps per second; None before two completed steps are known."""
        if len(self._marks) < 2:
            return None
        (then, before), (last, step) = self._marks[0], self._marks[-1]
        if last <= then:
            return None
        speed, since = (step - before) / (last - then), self._now - last
        return 1 / since if since > max(SLOW_SECS, 2 / speed) else speed
