"""Describes the tasks of a cluster for the panel."""

from __future__ import annotations

from collections.abc import Sequence

from nbtrain.core.tasks import Task, TaskState, attention, summary
from nbtrain.panel.wording import duration

# The most characters of a task's log in one update.
_LOG_CHARS = 600

# Seconds without a sign of life from which its age is shown: one sign is overdue.
_SILENT_SECS = 3.0


def table_of(tasks: Sequence[Task]) -> dict[str, object] | None:
    """Returns a table with a row for each task that is shown; None without a cluster."""
    if not tasks:
        return None
    shown = attention(tasks)
    names = {task.name for task in shown}
    rest = [task for task in tasks if task.name not in names]
    return {
        "summary": summary(tasks),
        "rows": [_row(task) for task in shown],
        "more": f"and {summary(rest)}" if rest else None,
    }


def _row(task: Task) -> list[object]:
    """A task's name, state, age of its last sign of life, and end of its log."""
    silent = task.silent_s
    age = "" if silent is None else "now" if silent < _SILENT_SECS else f"{duration(silent)} ago"
    if silent is None and task.state is not TaskState.ENDED:
        age = "none yet"
    return [task.name, str(task.state), age, task.log[-_LOG_CHARS:].strip()]
