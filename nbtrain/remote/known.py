"""The runs of other processes that this process follows."""

from __future__ import annotations

import os
import weakref
from collections import deque
from typing import Any

# In the order in which they were attached; each until it has ended, or is closed.
_followed: list[Any] = []

# The last that were followed to their ends: their panels can still be explored.
_ended: deque[weakref.ref[Any]] = deque(maxlen=8)

if hasattr(os, "register_at_fork"):  # not on Windows
    # A forked process has no threads of its parent, so it follows nothing.
    os.register_at_fork(after_in_child=_followed.clear)


def enlist(run: Any) -> None:
    """Adds a run."""
    _followed.append(run)


def forget(run: Any) -> None:
    """Removes a run that has ended or is closed."""
    if run.status.phase.ended:
        _ended.append(weakref.ref(run))
    _followed[:] = [other for other in _followed if other is not run]


def is_known(run: Any) -> bool:
    """Returns whether a run is followed, or was one of the last."""
    return run in _followed or any(ref() is run for ref in _ended)


def forget_all() -> None:
    """Forgets the runs that are followed no longer."""
    _ended.clear()


def followed() -> list[Any]:
    """Returns the runs that are followed and have not ended, the latest attached last."""
    return [run for run in list(_followed) if not run.status.phase.ended]


def ended() -> list[Any]:
    """Returns the last runs that have ended, also those whose next start is waited for."""
    last = [run for ref in list(_ended) if (run := ref()) is not None]
    return [run for run in [*last, *_followed] if run.status.phase.ended]
