"""The end of a process in which TensorFlow is still executing a step.

parting.take()   # called by `atexit`: the process ends without the C++ destructors

The end of a process destroys objects that TensorFlow's threads use. A step that is still running
then crashes the process, and its exit status is that of a crash. Python does not know the status
with which the program has ended. glibc's `on_exit` does, and calls `_exit` with it before any
destructor.
"""

from __future__ import annotations

import contextlib
import ctypes


def take() -> None:
    """Makes the process end as soon as Python has ended; without glibc, does nothing."""
    with contextlib.suppress(AttributeError, OSError, TypeError):
        libc = ctypes.CDLL(None)
        libc.on_exit(libc._exit, None)
        libc.fflush(None)  # `_exit` does not write C's buffered output
