"""Ends a process when its parent has ended, however the parent ended.

The parent has the writing end of a pipe, and never writes. When the parent ends, even by SIGKILL,
the system closes the pipe, and the child reads the end of the file. A process that the parent has
forked may have the pipe open too, so the child also checks the process number of its parent.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable

# Seconds between two checks of the parent's process number.
_POLL_SECS = 1.0


def watch(end: Callable[[], object]) -> None:
    """Calls `end` once, in a thread, when the parent has ended.

    The standard input is the pipe of the parent. From this call on, the program reads an empty file
    as its standard input.
    """
    parent = os.getppid()
    pipe = os.dup(0)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    ended = threading.Event()

    def read() -> None:
        try:
            while os.read(pipe, 1):
                pass
        finally:
            ended.set()

    def watch() -> None:
        while not ended.wait(_POLL_SECS):
            if sys.platform != "win32" and os.getppid() != parent:
                break
        end()

    for target in (read, watch):
        threading.Thread(target=target, name="nbtrain lifeline", daemon=True).start()
