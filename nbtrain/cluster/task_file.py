"""The file with the status of a task, `tasks/worker-0/task.json`, written once a second.

{"nbtrain": 1, "job": "worker", "index": 0, "address": "10.0.0.3:2222", "state": "serving",
 "host": "lab-3", "process": 4711, "process_started": 1790000000.25, "alive": 1790000321.5,
 "reason": ""}
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from enum import Enum
from pathlib import Path

from nbtrain.cluster.description import TaskAddress
from nbtrain.rundir import files
from nbtrain.rundir.files import Untrusted
from nbtrain.rundir.log_file import SHOWN_LINES, last_lines
from nbtrain.rundir.schema import Misfit, made

FOLDER = "tasks"
FILE = "task.json"
LOG = "log.txt"

# Seconds between two signs of life.
ALIVE_SECS = 1.0


class State(str, Enum):
    """The state of a task."""

    STARTING = "starting"  # the process imports TensorFlow
    SERVING = "serving"  # the task's server listens
    RUNNING = "running"  # the task runs a program
    ENDED = "ended"  # the task was asked to end, or its program has ended
    FAILED = "failed"  # the task has ended with an error, or was killed

    def __str__(self) -> str:
        """Returns the word."""
        return self.value

    @property
    def over(self) -> bool:
        """True if the process has ended."""
        return self in (State.ENDED, State.FAILED)


@dataclass(frozen=True, slots=True)
class TaskStatus:
    """The contents of a task's `task.json`.

    Attributes:
        job: The job, such as "worker".
        index: The number of the task in its job, from 0.
        address: The host and port at which the task listens.
        state: The state of the task.
        host: The name of the task's machine; empty if unknown.
        process: The number of the process on that machine; 0 if unknown.
        process_started: When the process started, in seconds since the epoch.
        alive: The last sign of life, in seconds since the epoch, by the clock of that machine.
        reason: Why the task has ended; empty if it still runs, or was asked to end.
    """

    job: str
    index: int
    address: str
    state: State = State.STARTING
    host: str = ""
    process: int = 0
    process_started: float = 0.0
    alive: float = 0.0
    reason: str = ""

    @property
    def name(self) -> str:
        """The job and number of the task, such as "worker 1"."""
        return f"{self.job} {self.index}"


def folder_of(folder: Path, task: TaskAddress | TaskStatus) -> Path:
    """Returns the folder of a task, below the folder of its cluster."""
    return folder / FOLDER / f"{task.job}-{task.index}"


def write(folder: Path, status: TaskStatus) -> None:
    """Replaces the file in the folder of a task.

    Raises:
        OSError: The file cannot be written.
    """
    files.replace(folder / FILE, {"nbtrain": 1, **asdict(status)}, sync=False)


def read(folder: Path) -> TaskStatus:
    """Returns the contents of the file in the folder of a task.

    Raises:
        OSError: The file does not exist, or cannot be read.
        Untrusted: The file does not contain the status of a task.
    """
    fields = files.read(f"{folder}/{FILE}")  # a Path costs a tenth of the time
    try:
        return made(TaskStatus, fields)
    except Misfit as error:
        raise Untrusted(f"it is not the status of a task: {error}") from None


def seen(
    folder: Path,
    known: TaskStatus,
    code: int | None,
    *,
    asked: bool,
    reading: Callable[[Path], TaskStatus],
) -> TaskStatus:
    """Returns the status of a task, from its file and what its launcher knows.

    Args:
        folder: The folder of the task.
        known: The status before the task has written a file.
        code: The exit code, or minus the signal that has ended the process; None while it runs.
        asked: Whether the task was asked to end.
        reading: Reads the file in a folder, as `read` does.
    """
    status = known
    with contextlib.suppress(OSError, Untrusted):
        written = reading(folder)
        if written.process == known.process:
            status = written
    if code is None or status.state.over:
        return status
    if asked or code == 0:
        return replace(status, state=State.ENDED)
    how = f"It was ended by {signal.Signals(-code).name}." if code < 0 else f"It left with {code}."
    return replace(status, state=State.FAILED, reason=how)


def end_of_log(path: Path) -> str:
    """Returns the last lines of a log; empty if there is none."""
    return "\n".join((last_lines(path) or [])[-SHOWN_LINES:])
