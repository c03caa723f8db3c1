"""Watches the tasks of the cluster that a run trains on.

watch.source = cluster.tasks        # the engine, before it trains
watch.poll(step)                    # the looper, at every tick: polls twice a second
watch.tasks                         # any thread
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from nbtrain.core.tasks import Task, TaskState

# Seconds between two polls: a lost task is reported within two of them.
POLL_SECS = 0.5

_WORDS = {"lost": "is lost", "returned": "is back"}


class TaskWatch:
    """The tasks of a run's cluster; a task that is lost or returns becomes a mark.

    Args:
        report: Logs an event ("lost" or "returned") at a step, with a text.
        source: Returns the tasks, always in the same order; None without a cluster.
        clock: Returns seconds that never go backwards.

    Attributes:
        source: As given; an engine may set its own.
        tasks: The tasks at the last poll.
    """

    def __init__(
        self,
        report: Callable[[str, int, str], object],
        source: Callable[[], Sequence[Task]] | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.source = source
        self.tasks: tuple[Task, ...] = ()
        self._report = report
        self._clock = clock
        self._due = clock()
        self._lost: set[str] = set()  # names of tasks whose loss was reported

    def poll(self, step: int, *, ended: bool = False) -> None:
        """Polls twice a second, and once at the end; the looper's thread."""
        now = self._clock()
        if self.source is None or (now < self._due and not ended):
            return
        self._due = now + POLL_SECS
        self.tasks = tuple(self.source())
        if not ended:  # then they are ended one after the other
            lost = {task.name for task in self.tasks if task.state is TaskState.LOST}
            running = {task.name for task in self.tasks if task.state is TaskState.RUNNING}
            self._report_all("lost", step, lost - self._lost)
            self._report_all("returned", step, running & self._lost)
            self._lost = (self._lost | lost) - running

    def _report_all(self, event: str, step: int, names: set[str]) -> None:
        for name in sorted(names):
            self._report(event, step, f"{name} {_WORDS[event]}")
