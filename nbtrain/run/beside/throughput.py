"""Measures the speed of a training."""

from __future__ import annotations

from collections import deque

# Seconds of the sliding window of the speed: long enough for a calm speed, short enough to follow
# changes.
WINDOW_SECS = 5.0

# Seconds of the longer window, and between two of its marks. The time left is computed from this
# window, because it includes the work between two epochs, such as an evaluation.
LONG_SECS, _MARK_SECS = 120.0, 1.0

# A step that takes longer than this, and twice as long as usual, is slow.
SLOW_SECS = 1.0


class Throughput:
    """Steps per second over a sliding window; the clock is an argument.

    Only an update with a new step counts, so that the speed of long steps is calm. The count starts
    at the first completed step, because this step may have built the model. It starts again after a
    pause, and after a session has gone back by itself.
    """

    def __init__(self) -> None:
        self.began = self.ended = 0.0
        self._marks: deque[tuple[float, int]] = deque()
        self._long: deque[tuple[float, int]] = deque()
        self._seen: int | None = None  # the step before the first mark
        self._now = 0.0
        self._last: float | None = None

    def update(self, step: int, now: float) -> None:
        """Records that `step` steps in total were completed at `now` (seconds)."""
        self._now = now
        before = self._marks[-1][1] if self._marks else self._seen
        if before is None or step < before:
            self.reset()
            self._seen = step
        elif step > before:
            _add(self._marks, (now, step), WINDOW_SECS)
            if not self._long or now - self._long[-1][0] >= _MARK_SECS:
                _add(self._long, (now, step), LONG_SECS)

    def elapsed(self, now: float) -> float:
        """Returns the seconds from the start until now, or until the end."""
        return (self.ended or now) - self.began if self.began else 0.0

    def reset(self) -> None:
        """Clears both windows, because the training thread is not training."""
        self._last = self.last_steps_per_s
        self._marks.clear()
        self._long.clear()
        self._seen = None

    def secs_for(self, steps: int) -> float | None:
        """Returns the seconds for some steps at the speed of the last minutes; None if unknown."""
        long, marks = [*self._long], [*self._marks]  # another thread may clear them
        if not long or not marks:
            return None
        (then, before), (_, step) = long[0], marks[-1]
        done, secs = step - before, self._now - then
        return steps * secs / done if done and secs > 0 else None

    @property
    def steps_per_s(self) -> float | None:
        """Steps per second; None before two completed steps are known."""
        marks = [*self._marks]  # another thread may clear them
        if len(marks) < 2:
            return None
        (then, before), (last, step) = marks[0], marks[-1]
        if last <= then:
            return None
        speed, since = (step - before) / (last - then), self._now - last
        return 1 / since if since > max(SLOW_SECS, 2 / speed) else speed

    @property
    def last_steps_per_s(self) -> float | None:
        """Steps per second now, or before the last reset; None if they were never known."""
        return self.steps_per_s or self._last


def _add(marks: deque[tuple[float, int]], mark: tuple[float, int], secs: float) -> None:
    """Adds a mark to a window, and drops the marks that are older than the window."""
    marks.append(mark)
    while len(marks) > 2 and mark[0] - marks[1][0] >= secs:
        marks.popleft()
