"""Short turns at the interpreter, while a training thread has to come to an end.

A thread that waits for the interpreter's lock gets it after `sys.getswitchinterval()`, 5 ms, where
another one computes in Python. A last checkpoint gives the lock away a hundred times, and so takes
half a second while a cell is busy. With short turns it does not.
"""

from __future__ import annotations

import sys
import threading

# Shorter turns gain nothing: the operating system needs as long to wake a thread.
SHORT_SECS = 0.0002

_lock = threading.Lock()  # protects both
_users: set[object] = set()
_usual = sys.getswitchinterval()


def begin_short_turns(user: object) -> None:
    """Have threads take short turns at the interpreter, until `user` ends them; any thread."""
    global _usual
    with _lock:
        if not _users and sys.getswitchinterval() > SHORT_SECS:
            _usual = sys.getswitchinterval()
            sys.setswitchinterval(SHORT_SECS)
        _users.add(user)


def end_short_turns(user: object) -> None:
    """End them; with the last user, the usual interval comes back. Any thread, also twice.

    An interval that somebody else has set meanwhile stays.
    """
    with _lock:
        _users.discard(user)
        if not _users and abs(sys.getswitchinterval() - SHORT_SECS) < 1e-6:
            sys.setswitchinterval(_usual)
