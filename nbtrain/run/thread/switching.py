"""Shortens the interpreter's switch interval while a training thread has to end soon.

While another thread computes in Python, a thread gets the interpreter's lock only after
`sys.getswitchinterval()`, 5 ms. A last checkpoint releases the lock a hundred times, and so takes
half a second while a cell is busy. A short interval avoids this.
"""

from __future__ import annotations

import sys
import threading

# A shorter interval gains nothing: the operating system needs this long to wake a thread.
SHORT_SECS = 0.0002

_lock = threading.Lock()  # protects _users and _usual
_users: set[object] = set()
_usual = sys.getswitchinterval()


def begin_short_turns(user: object) -> None:
    """Shortens the switch interval until `user` ends it; any thread."""
    global _usual
    with _lock:
        if not _users and sys.getswitchinterval() > SHORT_SECS:
            _usual = sys.getswitchinterval()
            sys.setswitchinterval(SHORT_SECS)
        _users.add(user)


def end_short_turns(user: object) -> None:
    """Ends the short interval for a user; the last one restores the usual. Any thread, also twice.

    An interval that other code has set meanwhile stays.
    """
    with _lock:
        _users.discard(user)
        if not _users and abs(sys.getswitchinterval() - SHORT_SECS) < 1e-6:
            sys.setswitchinterval(_usual)
