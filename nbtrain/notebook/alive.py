"""Keeps a kernel from counting as idle while a run trains in it.

An idle culler shuts down a kernel that has sent nothing for some time, even if a run trains in it.
The server has such a culler (`MappingKernelManager.cull_idle_timeout`), and so has JupyterHub,
which asks the server. Both ignore outputs and status messages, but count widget messages. So this
module sends a widget message every 30 s while a run prepares, trains or stops. No page handles the
message. A paused run sends none.

The environment variable `NBTRAIN_KEEP_ALIVE` sets another interval in seconds; 0 disables it.
"""

from __future__ import annotations

import math
import os
import time
import weakref
from typing import TYPE_CHECKING

from IPython import get_ipython

from nbtrain.core.states import Phase

if TYPE_CHECKING:
    from nbtrain.run.run import Run

VARIABLE = "NBTRAIN_KEEP_ALIVE"

# Cullers are set to minutes or hours.
SECS = 30.0

# No page has a comm of this name.
_COMM = "nbtrain-alive"

_AT_WORK = frozenset({Phase.PREPARING, Phase.RUNNING, Phase.STOPPING})


_kept: weakref.WeakSet[Run] = weakref.WeakSet()


def keep_alive(run: Run) -> None:
    """Keeps this kernel from counting as idle during this and later starts of the run.

    Does nothing outside a kernel.
    """
    kernel = getattr(get_ipython(), "kernel", None)
    if kernel is None or run in _kept:
        return
    _kept.add(run)
    secs, sent = _secs(run), time.monotonic()

    def tick() -> None:
        nonlocal sent
        now = time.monotonic()
        if now - sent >= secs and run.status.phase in _AT_WORK:
            sent = now
            content = {"comm_id": _COMM, "data": {}}
            kernel.session.send(kernel.iopub_socket, "comm_msg", content, ident=_COMM.encode())

    run.on_tick(tick)


def _secs(run: Run) -> float:
    """Returns the seconds between two messages; infinity if none are sent."""
    given = os.environ.get(VARIABLE, "")
    try:
        secs = float(given or SECS)
    except ValueError:
        secs = -1.0
    if not secs >= 0:
        run.handle.note(
            "alive",
            f"{VARIABLE}={given!r} is not a number of seconds, so {SECS:g} is used: give the "
            "seconds between two signs of life, or 0 for none.",
        )
        secs = SECS
    return secs or math.inf
