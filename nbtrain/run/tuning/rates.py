"""Records the learning rates of schedules, in addition to the factors on them.

rates.mark(step)     # training thread, now and then: stores the position of each schedule
rates.flush()        # monitor thread: computes and records the rates up to this step
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from nbtrain.core.values.hyperparameters import FACTOR, Hyperparameters
from nbtrain.run.beside.monitor import Monitor

# The most points between two marks, which are a second apart. Each point calls the schedule, which
# takes a fraction of a millisecond.
_POINTS = 20

Record = Callable[[int, float, Mapping[str, float]], object]


class Rates:
    """The rates of one start of a run."""

    def __init__(self, hyperparameters: Hyperparameters, monitor: Monitor, record: Record) -> None:
        self._hyperparameters = hyperparameters
        self._monitor = monitor
        self._record = record
        # Step, wall time, name of the factor, its value, and the position of its schedule.
        self._waiting: deque[tuple[int, float, str, float, Any]] = deque(maxlen=1_000)
        self._last: dict[str, tuple[int, float, int]] = {}  # step, wall time, position
        self._failed: set[str] = set()
        self._flushing = threading.Lock()  # protects the order of the points

    def mark(self, step: int, *, restart: bool = False) -> None:
        """Stores the positions of the schedules; training thread.

        Args:
            restart: Whether the run went back, so that no points are added between the last mark,
                which is flushed, and this one.
        """
        moments = self._hyperparameters.moments()
        if not moments:
            return
        if restart:
            self._last.clear()
        values, now = self._hyperparameters.values, time.time()
        for name, moment in moments.items():
            if name in values:
                self._waiting.append((step, now, name, values[name], moment))

    def flush(self) -> None:
        """Records the rates up to the last mark; any thread."""
        with self._flushing:  # waits until another thread has recorded the marks that it removed
            while self._waiting:
                step, wall, name, factor, moment = self._waiting.popleft()
                if name not in self._failed:
                    self._record_rates(step, wall, name, factor, moment)

    def _record_rates(self, step: int, wall: float, name: str, factor: float, moment: Any) -> None:
        done = int(moment)
        before = self._last.get(name, (step, wall, done))
        self._last[name] = step, wall, done
        try:
            for at, when, far in _between(before, (step, wall, done)):
                rate = self._hyperparameters.rate(name, far) * factor
                self._record(at, when, {name.removesuffix(FACTOR): rate})
        except Exception as error:  # noqa: BLE001 - the user's schedule failed; shown
            self._failed.add(name)
            self._monitor.notices.note(
                "rates", f"The rate under {name} cannot be computed: {error}"
            )
            return
        self._hyperparameters.effects = {**self._hyperparameters.effects, name: rate}


def _between(
    before: tuple[int, float, int], last: tuple[int, float, int]
) -> list[tuple[int, float, int]]:
    """Returns the last moment, preceded by interpolated moments if the steps are regular."""
    (step, wall, far), (end, until, done) = before, last
    steps = end - step
    if steps <= 1 or done - far != (done - far) // steps * steps:  # irregular steps
        return [last]
    each, count = (done - far) // steps, min(steps, _POINTS)
    ats = [step + steps * number // count for number in range(1, count + 1)]
    share = [(at - step) / steps for at in ats]
    return [
        (at, wall + part * (until - wall), far + each * (at - step))
        for at, part in zip(ats, share, strict=True)
    ]
