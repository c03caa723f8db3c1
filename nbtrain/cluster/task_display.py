"""Describes the tasks of a cluster for a run's panel: state, silence, end of the log."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from nbtrain.cluster import task_file
from nbtrain.cluster.task_file import State, TaskStatus
from nbtrain.core.tasks import Task, TaskState, attention

# Seconds without a sign of life after which a task counts as lost.
SILENT_SECS = 10.0

_SHOWN = {
    State.STARTING: TaskState.STARTING,
    State.SERVING: TaskState.RUNNING,
    State.RUNNING: TaskState.RUNNING,
    State.ENDED: TaskState.ENDED,
    State.FAILED: TaskState.LOST,
}


class TaskDisplay:
    """Describes the tasks of one cluster; any thread.

    Silence is measured by the clock of this process, because the clocks of two machines differ.

    Args:
        folder: The folder of the cluster.
        clock: Returns seconds that never go backwards.
    """

    def __init__(self, folder: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder = folder
        self._clock = clock
        # By job and index: the last sign of life, and when it was first seen.
        self._heard: dict[tuple[str, int], tuple[float, float]] = {}

    def of(self, tasks: Sequence[TaskStatus]) -> tuple[Task, ...]:
        """Describes the tasks; adds the end of the log for tasks that need attention."""
        shown = [self._shown(each) for each in tasks]
        logged = {task.name for task in attention(shown)}
        return tuple(
            replace(task, log=task_file.end_of_log(self._log_of(each)))
            if task.name in logged
            else task
            for each, task in zip(tasks, shown, strict=True)
        )

    def silent(self, tasks: Sequence[TaskStatus]) -> list[TaskStatus]:
        """Returns the tasks that run but show no sign of life."""
        return [
            each
            for each in tasks
            if not each.state.over and self._shown(each).state is TaskState.LOST
        ]

    def _shown(self, status: TaskStatus) -> Task:
        silent = self._silence_of(status)
        state = _SHOWN[status.state]
        if state is TaskState.RUNNING and silent is not None and silent >= SILENT_SECS:
            state = TaskState.LOST
        return Task(status.job, status.index, state, status.address, silent_s=silent)

    def _silence_of(self, status: TaskStatus) -> float | None:
        """Returns the seconds since the last sign of life; None before the first."""
        if not status.alive:
            return None
        key, now = (status.job, status.index), self._clock()
        alive, seen = self._heard.get(key, (0.0, now))
        if alive != status.alive:
            seen = now
            self._heard[key] = status.alive, now
        return now - seen

    def _log_of(self, status: TaskStatus) -> Path:
        return task_file.folder_of(self._folder, status) / task_file.LOG
