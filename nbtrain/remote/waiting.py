"""Waits for the end of an attached run, and says once that the run is paused."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Generator
from time import monotonic
from typing import Any, Protocol

from nbtrain.core.errors import WaitError
from nbtrain.core.states import Phase, Status

# Seconds between two checks if the run is paused.
_LOOK_SECS = 0.5
_AWAIT_SECS = 0.1


class Followed(Protocol):
    """The run that is waited for."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def status(self) -> Status:
        """Its current status."""


class Waiting:
    """One wait for the end of a run; any thread except the one that follows it.

    Args:
        run: The run.
        thread: The thread that follows it.

    Raises:
        WaitError: The calling thread is that one, and would wait for itself.
    """

    def __init__(self, run: Followed, thread: threading.Thread) -> None:
        self._run, self._thread = run, thread
        self._told = False
        if thread is threading.current_thread():
            raise WaitError(
                f"A function of on_tick cannot wait for the end of the run {run.name!r}: its own "
                "thread reads of it. Leave out wait() here."
            )

    def until_ended(self, ended: threading.Event, timeout: float | None) -> bool:
        """Waits `timeout` seconds, and reports pauses meanwhile; tells if the run has ended."""
        until = None if timeout is None else monotonic() + timeout
        while True:
            left = _LOOK_SECS if until is None else until - monotonic()
            if ended.wait(max(0.0, min(left, _LOOK_SECS))):
                return True
            self._check(ended)
            if left <= 0:
                return False

    def awaited(self, ended: threading.Event) -> Generator[Any, None, None]:
        """Waits without blocking the event loop; reports pauses meanwhile."""
        while not ended.is_set():
            self._check(ended)
            yield from asyncio.sleep(_AWAIT_SECS).__await__()

    def _check(self, ended: threading.Event) -> None:
        """Says that the run is paused, once in each pause; fails if nobody follows it."""
        if not self._thread.is_alive() and not ended.is_set():
            raise WaitError(
                f"{self._run!r} is followed no longer, because close() was called: attach again."
            )
        status = self._run.status
        told, self._told = self._told, status.phase is Phase.PAUSED
        if self._told and not told:
            sys.stderr.write(
                f"nbtrain: The run {self._run.name!r} is paused at step {status.step:,}, and this "
                "waits for its end. Resume in its panel, or run.resume(), lets it go on. "
                "Interrupting the wait does not affect the run.\n"
            )
