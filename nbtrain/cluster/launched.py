"""A cluster whose tasks this process has started.

with nbtrain.cluster.local(ps=1, workers=2) as cluster:
    cluster.wait_until_ready()
    cluster.tasks                    # state, process, address and last sign of life of each
    cluster.restart("worker", 1)
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, Protocol

from typing_extensions import Self

from nbtrain.cluster import task_file
from nbtrain.cluster.description import Description, TaskAddress
from nbtrain.cluster.supervision import Supervision
from nbtrain.cluster.task_display import TaskDisplay
from nbtrain.cluster.task_file import State, TaskStatus
from nbtrain.core.errors import WaitError
from nbtrain.core.tasks import Task
from nbtrain.core.text.text_table import in_columns
from nbtrain.rundir.files import Polled

# Seconds for tasks to end after they were asked to.
_END_SECS = 10.0
# Seconds between two polls during a wait for tasks.
_POLL_SECS = 0.1
# Seconds for the processes to import TensorFlow, several at once on a small machine.
_READY_SECS = 180.0


class Process(Protocol):
    """The process of a task."""

    @property
    def pid(self) -> int:
        """The number of the process."""

    @property
    def code(self) -> int | None:
        """The exit code, or minus the signal that has ended the process; None while it runs."""

    def terminate(self) -> None:
        """Asks the process to end."""

    def kill(self) -> None:
        """Kills the process and its children."""

    def join(self, secs: float) -> bool:
        """Waits until the process has ended; returns whether it has."""


# True restarts a task that has died; "all" then restarts all tasks.
Restart = bool | Literal["all"]


class LaunchedCluster:
    """A cluster whose tasks this process has started; any thread.

    The tasks end with the `with` block, and with this process, even if it is killed.

    Args:
        description: The cluster.
        folder: The folder of the cluster. Each task has a folder in it, such as `tasks/worker-0`,
            with the log and the status of the task.
        tasks: The tasks to start; the others, such as a chief, belong to this process.
        start: Starts the process of a task.
        free: Frees the launcher's resources, such as ports.
        restart: Whether to restart a task that has failed; one that was asked to end is not
            restarted. "all" then restarts all tasks, and ends the others once the first has ended
            by itself.

    Attributes:
        description: The cluster, for `nbtrain.train(build, cluster=...)` and others.
        folder: The folder of the cluster.
    """

    def __init__(
        self,
        description: Description,
        folder: Path,
        tasks: Sequence[TaskAddress],
        start: Callable[[TaskAddress], Process],
        free: Callable[[], object],
        *,
        restart: Restart = False,
    ) -> None:
        self.description = description
        self.folder = folder
        self._display = TaskDisplay(folder)
        self._start, self._free = start, free
        self._files = Polled(task_file.read, task_file.FILE)
        self._folders = {task: task_file.folder_of(folder, task) for task in tasks}
        self._processes: dict[TaskAddress, Process] = {}
        self._asked: set[TaskAddress] = set()  # the tasks that were asked to end
        self._lock = threading.RLock()  # protects _processes and _asked
        self._together = restart == "all"
        self._supervision = Supervision(self._died, self._revive) if restart else None
        try:
            for task in tasks:
                self._processes[task] = start(task)
        except BaseException:
            self.close()
            raise
        if self._supervision is not None:
            self._supervision.start()

    @property
    def tasks(self) -> tuple[TaskStatus, ...]:
        """The status of each task that this cluster has started, job by job."""
        return tuple(map(self._status, list(self._processes)))

    def shown(self) -> tuple[Task, ...]:
        """Returns the tasks for a display, such as the panel of a run."""
        return self._display.of(self.tasks)

    @property
    def tf_config(self) -> str:
        """The text of `TF_CONFIG`, without a task."""
        return self.description.tf_config

    def wait_until_ready(self, timeout: float = _READY_SECS) -> Self:
        """Waits until each server listens, and each program runs.

        Raises:
            WaitError: A task has ended, or is not ready after `timeout` seconds.
        """
        until = time.monotonic() + timeout
        while waiting := [each for each in self.tasks if each.state is not State.SERVING]:
            for each in waiting:
                if each.state is State.FAILED:
                    raise WaitError(f"{each.name} has not started. {self._end_of(each)}")
            if all(each.state is not State.STARTING for each in waiting):
                break
            if time.monotonic() > until:
                names = ", ".join(each.name for each in waiting)
                raise WaitError(
                    f"After {timeout:g} s {names} is not ready: wait again, or look into its log "
                    f"below {self.folder / task_file.FOLDER}."
                )
            time.sleep(_POLL_SECS)
        return self

    def wait(self, timeout: float | None = None) -> Self:
        """Waits until all programs have ended.

        Raises:
            WaitError: A program has failed, or a program still runs after `timeout` seconds.
        """
        until = None if timeout is None else time.monotonic() + timeout
        while not all(each.state.over for each in self.tasks):
            if until is not None and time.monotonic() > until:
                raise WaitError(f"After {timeout:g} s tasks still run:\n{self!r}")
            time.sleep(_POLL_SECS)
        for each in self.tasks:
            if each.state is State.FAILED:
                raise WaitError(f"{each.name} has failed. {self._end_of(each)}")
        return self

    def restart(self, job: str, index: int = 0) -> None:
        """Restarts a task at the same address; first ends its process if it still runs."""
        task = self._launched(job, index)
        with self._lock:
            self._end([task])
            self._processes[task] = self._start(task)
            self._asked.discard(task)

    def kill(self, job: str, index: int = 0) -> None:
        """Kills a task, as if its machine were switched off; `restart` starts the task again."""
        task = self._launched(job, index)
        with self._lock:
            self._processes[task].kill()

    def end_silent(self) -> list[str]:
        """Kills tasks that run but show no sign of life; returns their names."""
        silent = self._display.silent(self.tasks)
        for each in silent:
            self.kill(each.job, each.index)
        return [each.name for each in silent]

    def log(self, job: str, index: int = 0) -> str:
        """Returns what a task has printed."""
        path = self._folders[self._launched(job, index)] / task_file.LOG
        return path.read_text(encoding="utf-8", errors="replace")

    def close(self) -> None:
        """Ends all tasks and frees their ports; they have ten seconds to end by themselves."""
        if self._supervision is not None:
            self._supervision.stop()
        with self._lock:
            self._end(list(self._processes))
        self._free()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        """Returns a table of the tasks, with the reason of those that have failed."""
        rows = [["task", "state", "address", "process", "reason"]]
        for each in self.tasks:
            reason = each.reason.partition("\n")[0]
            process = str(each.process or "")
            rows.append([each.name, str(each.state), each.address, process, reason])
        return f"Cluster in {self.folder}\n{in_columns(rows)}"

    def _launched(self, job: str, index: int) -> TaskAddress:
        """Returns a task that was started; raises an ArgumentError if there is no such task."""
        own = Description(
            {
                each: tuple(task.address for task in self._processes if task.job == each)
                for each in self.description.jobs
            }
        )
        return own.task(job, index)

    def _status(self, task: TaskAddress) -> TaskStatus:
        status = self._seen(task)
        if status.state is State.FAILED and self._first_has_ended(task):
            return replace(status, state=State.ENDED, reason="")
        return status

    def _first_has_ended(self, task: TaskAddress) -> bool:
        """Returns whether a task cannot continue because the first one has ended by itself."""
        first = next(iter(self._processes))
        return self._together and task != first and self._seen(first).state is State.ENDED

    def _seen(self, task: TaskAddress) -> TaskStatus:
        process = self._processes[task]
        return task_file.seen(
            self._folders[task],
            TaskStatus(task.job, task.index, task.address, process=process.pid),
            process.code,
            asked=task in self._asked,
            reading=self._files.of,
        )

    def _end_of(self, task: TaskStatus) -> str:
        log = task_file.folder_of(self.folder, task) / task_file.LOG
        return f"{task.reason} Its log is {log}, and ends:\n{task_file.end_of_log(log)}"

    def _end(self, tasks: Sequence[TaskAddress]) -> None:
        """Ends processes: asks them first, and kills those that do not end in time."""
        self._asked.update(tasks)
        for task in tasks:
            self._processes[task].terminate()
        until = time.monotonic() + _END_SECS
        for task in tasks:
            if not self._processes[task].join(until - time.monotonic()):
                self._processes[task].kill()

    # --- supervision ------------------------------------------------------------------

    def _died(self) -> list[TaskAddress]:
        """Returns the tasks to restart: those that have failed, unless they were asked to end.

        If all tasks are restarted together, returns the first one if any has failed, and kills the
        others once the first has ended by itself.
        """
        with self._lock:
            first, *others = self._processes
            if others and self._first_has_ended(others[0]):
                self._asked.update(others)
                for task in others:  # they wait for the first, so asking them has no effect
                    self._processes[task].kill()
            died = [
                task
                for task, process in self._processes.items()
                if process.code not in (None, 0) and task not in self._asked
            ]
            return [first] if died and self._together else died

    def _revive(self, task: TaskAddress) -> None:
        """Restarts a task, or all tasks together; their current work is lost anyway."""
        with self._lock:
            if task not in self._asked:
                tasks = list(self._processes) if self._together else [task]
                for each in tasks:
                    self._processes[each].kill()
                for each in tasks:
                    self._processes[each] = self._start(each)
