"""The cluster to which this process belongs, for the panel of a run in the task's program.

own_cluster.join(description, folder)    # nbtrain.worker
own_cluster.source()                     # the watch of a run
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from nbtrain.cluster import task_file
from nbtrain.cluster.description import Description
from nbtrain.cluster.task_display import TaskDisplay
from nbtrain.cluster.task_file import State, TaskStatus
from nbtrain.core.tasks import Task
from nbtrain.rundir.files import Polled, Untrusted
from nbtrain.rundir.processes import has_ended

_joined: Callable[[], Sequence[Task]] | None = None


def join(description: Description, folder: Path) -> None:
    """Makes this process a task of a cluster whose tasks keep their status below a folder."""
    global _joined
    _joined = TasksOnDisk(description, folder)


def source() -> Callable[[], Sequence[Task]] | None:
    """Returns a function that describes the cluster's tasks; None if this process is no task."""
    return _joined


class TasksOnDisk:
    """The tasks of a cluster, read from their status files; tasks without a file are left out.

    Args:
        description: The cluster.
        folder: The folder of the cluster.
    """

    def __init__(self, description: Description, folder: Path) -> None:
        self._folders = [task_file.folder_of(folder, task) for task in description.tasks]
        self._files = Polled(task_file.read, task_file.FILE)
        self._display = TaskDisplay(folder)

    def __call__(self) -> tuple[Task, ...]:
        """Describes the tasks."""
        found = []
        here = socket.gethostname()
        for folder in self._folders:
            with contextlib.suppress(OSError, Untrusted):
                status = self._files.of(folder)
                found.append(_checked(status) if status.host == here else status)
        return self._display.of(found)


def _checked(status: TaskStatus) -> TaskStatus:
    """Returns the status; FAILED if the process has ended without writing its last state."""
    sign = status.host, status.process, status.process_started, status.alive
    if status.state.over or not has_ended(*sign):
        return status
    return replace(status, state=State.FAILED)
