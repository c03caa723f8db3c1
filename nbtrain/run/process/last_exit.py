"""Ends a process while a step of TensorFlow is still running."""

from __future__ import annotations

import contextlib
import ctypes
import signal


def leave_without_crash() -> None:
    """Prevents a step that is still running from crashing the exit; does nothing without glibc.

    Two things would crash the process, and its exit status would be that of the crash:

    1. The end of a process destroys objects that TensorFlow's threads use. Python does not know the
       exit status of the program. glibc's `on_exit` does, and calls `_exit` with this status before
       any destructor.
    2. Until then, a step that returns to Python ends its thread by `pthread_exit` (before Python
       3.14), which aborts in TensorFlow's C++ frames. The handler of SIGABRT lets that thread
       sleep until the process has ended, however long its objects take to be destroyed.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):
        libc = ctypes.CDLL(None)
        libc.on_exit(libc._exit, None)
        libc.fflush(None)  # `_exit` does not write C's buffered output
        libc.signal(signal.SIGABRT, libc.pause)
