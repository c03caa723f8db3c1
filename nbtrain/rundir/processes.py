"""Checks whether a process that has written a file still lives."""

from __future__ import annotations

import socket

import psutil

# Seconds by which two readings of a process's start may differ.
_START_SECS = 1.0


def has_ended(host: str, process: int, started: float, alive: float) -> bool:
    """Returns whether a process has ended; False for one of another machine.

    A process with this number is another one if it started at another time, and after the sign of
    life. Another start time alone is not enough: the system changes the start times of all
    processes if its clock is set.

    Args:
        host: The name of its machine.
        process: Its number there.
        started: When it started, in seconds since the epoch.
        alive: Its last sign of life, in seconds since the epoch.
    """
    if host != socket.gethostname():
        return False
    try:
        found = psutil.Process(process)
        now = found.create_time()
        other = abs(now - started) > _START_SECS and now > alive
        return other or bool(found.status() == psutil.STATUS_ZOMBIE)
    except (psutil.NoSuchProcess, ValueError, OverflowError):  # no process can have such a number
        return True
    except psutil.Error:  # access is denied, so the process exists
        return False
