"""How fast the steps come: a speed over the last seconds."""

from __future__ import annotations

from collections import deque

# Seconds that the speed looks back: long enough to be calm, short enough to follow.
WINDOW_SECS = 5.0

# A step that has been going on for longer than this, and twice as long as usual, is slow.
SLOW_SECS = 1.0


class Throughput:
    """Steps a second over a sliding window; the clock is an argument.

    Only moments at which a step was found done count: so the speed of long steps is calm.
    The first of them begins the count, as the step before it may have built the model. A
    pause makes it start anew, and so does a session that has gone back by itself.
    """

    def __init__(self) -> None:
        self._marks: deque[tuple[float, int]] = deque()
        self._seen: int | None = None  # the step before the first mark
        self._now = 0.0

    def update(self, step: int, now: float) -> None:
        """Note that `step` steps in all were completed at `now` (seconds)."""
        self._now = now
        before = self._marks[-1][1] if self._marks else self._seen
        if before is None or step < before:
            self._marks.clear()
            self._seen = step
        elif step > before:
            self._marks.append((now, step))
            while len(self._marks) > 2 and now - self._marks[1][0] >= WINDOW_SECS:
                self._marks.popleft()

    def reset(self) -> None:
        """Forget the past: the training thread stands still."""
        self._marks.clear()
        self._seen = None

    @property
    def steps_per_s(self) -> float | None:
        """Steps a second; None before two moments are known."""
        if len(self._marks) < 2:
            return None
        (then, before), (last, step) = self._marks[0], self._marks[-1]
        if last <= then:
            return None
        speed, since = (step - before) / (last - then), self._now - last
        return 1 / since if since > max(SLOW_SECS, 2 / speed) else speed
