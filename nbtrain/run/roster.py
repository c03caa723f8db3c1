"""The runs that this process has started, by name, and who is told of each start."""

from __future__ import annotations

import contextvars
import os
from collections.abc import Callable
from typing import Any

# Ended runs that are known by name: each holds its model.
_ENDED_KEPT = 8

# The one started last at the end.
runs: dict[str, Any] = {}

# Called with each run that has been started, in the thread that has started it.
listeners: list[Callable[[Any], object]] = []

# Gives the context of a training thread, in the thread that starts it; a notebook sets its own.
context: Callable[[], contextvars.Context] = contextvars.copy_context

if hasattr(os, "register_at_fork"):  # not on Windows
    # A forked process has none of its parent's threads, and so none of its runs.
    os.register_at_fork(after_in_child=runs.clear)


def enlist(run: Any) -> None:
    """Make a run that starts the last one, and forget those that ended long ago."""
    runs.pop(run.name, None)
    runs[run.name] = run
    ended = [name for name, other in list(runs.items()) if other.status.phase.ended]
    for name in ended[:-_ENDED_KEPT]:
        runs.pop(name, None)


def tell(run: Any) -> None:
    """Tell of a run that has been started; in the thread that has started it."""
    for listener in list(listeners):
        listener(run)
