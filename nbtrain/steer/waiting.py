"""Waits in a cell for the end of a run, and reports once in each pause that it is paused."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from time import monotonic

from nbtrain.core.text.visible import say

# Seconds between two checks if the run is paused.
_POLL_SECS = 0.5


class Pauses:
    """Reports on the standard error that a run is paused, once in each pause.

    Args:
        paused: Returns the message while the run is paused; None while it is not.
    """

    def __init__(self, paused: Callable[[], str | None]) -> None:
        self._paused = paused
        self._reported = False

    def report(self) -> None:
        """Reports a pause that has begun; one thread at a time."""
        words = self._paused()
        reported, self._reported = self._reported, words is not None
        if words is not None and not reported:
            say(f"nbtrain: {words}")


class Waiting:
    """One wait for the end of a run; any thread. Subclasses define `paused`.

    Args:
        ended: Set when the run has ended.
    """

    def __init__(self, ended: threading.Event) -> None:
        self._ended = ended
        self._pauses = Pauses(self.paused)

    def paused(self) -> str | None:
        """Returns the message for a paused run; None while the run is not paused."""
        raise NotImplementedError

    def until_ended(self, timeout: float | None) -> bool:
        """Waits `timeout` seconds and reports pauses meanwhile; returns whether the run has ended.

        A wait of less than half a second reports no pause: it may be one of many in a loop.
        """
        __tracebackhide__ = True  # IPython shows the lines of the training instead
        end = None if timeout is None else monotonic() + timeout
        while True:
            left = math.inf if end is None else end - monotonic()
            if self._ended.wait(max(0.0, min(left, _POLL_SECS))):
                return True
            if left <= _POLL_SECS:
                return False
            self._pauses.report()
