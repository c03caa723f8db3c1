"""The runs that this process has started, by name, and the listeners of each start."""

from __future__ import annotations

import contextvars
import os
from collections.abc import Callable
from typing import Any

# The number of ended runs to keep: each holds its model in memory.
_ENDED_KEPT = 8

# The runs in the order of their starts.
runs: dict[str, Any] = {}

# Called with each started run, in the thread that has started it.
listeners: list[Callable[[Any], object]] = []

# Returns the context for a training thread; called in the starting thread. A notebook replaces it.
context: Callable[[], contextvars.Context] = contextvars.copy_context

if hasattr(os, "register_at_fork"):  # not on Windows
    # A forked process has no threads of its parent, and so none of its runs.
    os.register_at_fork(after_in_child=runs.clear)


def enlist(run: Any) -> None:
    """Adds a starting run at the end, and forgets runs that ended long ago."""
    runs.pop(run.name, None)
    runs[run.name] = run
    ended = [name for name, other in list(runs.items()) if other.status.phase.ended]
    for name in ended[:-_ENDED_KEPT]:
        runs.pop(name, None)


def tell(run: Any) -> None:
    """Calls the listeners for a started run; in the thread that has started it."""
    for listener in list(listeners):
        listener(run)
