"""Counts the steps of each worker: its speed, and how many the others complete meanwhile."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace

from nbtrain.core.tasks import Task, TaskState
from nbtrain.run.throughput import Throughput


class WorkerSteps:
    """The completed steps of each worker.

    A worker reads the variables for a step as soon as its last one is completed, because the next
    one waits for it. So the steps that others complete between two of its own are its staleness.

    Args:
        clock: Returns seconds that never go backwards.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._done: Counter[int] = Counter()
        self._total = 0
        self._last: dict[int, int] = {}  # the total when a worker completed its last step
        self._staleness: dict[int, int] = {}
        self._speeds: defaultdict[int, Throughput] = defaultdict(Throughput)

    def count(self, worker: int) -> None:
        """Counts a completed step of a worker; training thread only."""
        if (last := self._last.get(worker)) is not None:
            self._staleness[worker] = self._total - last
        self._total += 1
        self._last[worker] = self._total
        self._done[worker] += 1

    def shown(self, tasks: Iterable[Task]) -> tuple[Task, ...]:
        """Adds speed and staleness to the workers that run; one thread, about twice a second."""
        return tuple(self._with_steps(task) for task in tasks)

    def _with_steps(self, task: Task) -> Task:
        if task.job != "worker":
            return task
        speed = self._speeds[task.index]
        if task.state is not TaskState.RUNNING:
            speed.reset()
            return task
        speed.update(self._done[task.index], self._clock())
        staleness = self._staleness.get(task.index)
        return replace(task, steps_per_s=speed.steps_per_s, staleness=staleness)
