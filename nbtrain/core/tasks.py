"""The tasks of the cluster that a run trains on, as a display shows them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum


class TaskState(str, Enum):
    """The state of a task; compares equal to its own word (`"running"`)."""

    STARTING = "starting"
    RUNNING = "running"
    LOST = "lost"
    """Its process is gone, or it gives no sign of life."""
    ENDED = "ended"

    def __str__(self) -> str:
        """Returns the state's word."""
        return self.value


# Tasks that are shown one by one, with the end of their logs.
SHOWN_TASKS = 24

_URGENCY = list(TaskState)[::-1]  # a lost task comes before one that starts


@dataclass(frozen=True, slots=True)
class Task:
    """A task of a cluster.

    Attributes:
        job: "chief", "worker", "ps" or "evaluator".
        index: Its number in its job.
        state: Its state.
        address: Host and port.
        silent_s: Seconds since its last sign of life; None before the first.
        log: The last lines that it has printed; empty for a task that is not shown by itself.
    """

    job: str
    index: int
    state: TaskState
    address: str = ""
    silent_s: float | None = None
    log: str = ""

    @property
    def name(self) -> str:
        """Its job and number, such as "worker 1"."""
        return f"{self.job} {self.index}"

    def __str__(self) -> str:
        """Returns name and state, and for a lost task the age of its last sign of life."""
        text = f"{self.name}: {self.state}"
        if self.state is TaskState.LOST and self.silent_s is not None:
            text += f", no sign of life for {self.silent_s:.0f} s"
        return text


def attention(tasks: Sequence[Task]) -> list[Task]:
    """Returns the tasks to show, in their order; if there are too many, prefers those not running.

    At most `SHOWN_TASKS` are returned.
    """
    running = TaskState.RUNNING
    ordered = sorted(tasks, key=lambda each: (each.state is running, _URGENCY.index(each.state)))
    shown = {task.name for task in ordered[:SHOWN_TASKS]}
    return [task for task in tasks if task.name in shown]


def summary(tasks: Sequence[Task]) -> str:
    """Describes a cluster in one line, such as "1 ps, 2 workers; worker 1 is lost"."""
    jobs = Counter(task.job for task in tasks)
    parts = [f"{count:,} {_noun(job, count)}" for job, count in jobs.items()]
    text = ", ".join(parts)
    others = [task for task in tasks if task.state is not TaskState.RUNNING]
    if len(others) == 1:
        return f"{text}; {others[0].name} is {others[0].state}"
    if others:
        states = Counter(str(task.state) for task in others)
        return f"{text}; " + ", ".join(f"{count:,} {state}" for state, count in states.items())
    return text


def _noun(job: str, count: int) -> str:
    return job if count == 1 or job == "ps" else f"{job}s"
