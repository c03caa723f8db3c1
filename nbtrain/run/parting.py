"""The very end of a process in which TensorFlow is still at a step.

parting.take()   # with `atexit`: the process ends without what C++ does at its end

At its end a process destroys what TensorFlow's threads work with, and a step that goes on crashes
it: the status is that of a crash, and not the one that the program has ended with, which nobody
can ask for in Python. glibc's `on_exit` is told it, and calls `_exit` with it before all that.
"""

from __future__ import annotations

import contextlib
import ctypes


def take() -> None:
    """Have the process end as soon as Python has; where there is no glibc, nothing changes."""
    with contextlib.suppress(AttributeError, OSError, TypeError):
        libc = ctypes.CDLL(None)
        libc.on_exit(libc._exit, None)
        libc.fflush(None)  # what is printed by C is not written by `_exit`
