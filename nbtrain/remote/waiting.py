"""Waits for the end of an attached run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator
from typing import Any, Protocol

from nbtrain.core.errors import WaitError
from nbtrain.core.states import Phase, Status
from nbtrain.steer.waiting import Waiting

# Seconds between two checks of an `await`.
_AWAIT_SECS = 0.1


class Followed(Protocol):
    """The run that is waited for."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def status(self) -> Status:
        """Its current status."""


class AttachedWaiting(Waiting):
    """One wait for the end of a run; any thread except the one that follows it.

    Args:
        run: The run.
        thread: The thread that follows it.
        ended: Set when the run has ended.

    Raises:
        WaitError: The calling thread is that one, and would wait for itself.
    """

    def __init__(self, run: Followed, thread: threading.Thread, ended: threading.Event) -> None:
        super().__init__(ended)
        self._run, self._thread = run, thread
        if thread is threading.current_thread():
            raise WaitError(
                f"A function of on_tick cannot wait for the end of the run {run.name!r}: its own "
                "thread reads of it. Leave out wait() here."
            )

    def awaited(self) -> Generator[Any, None, None]:
        """Waits without blocking the event loop; reports pauses meanwhile."""
        while not self._ended.is_set():
            self._pauses.look()
            yield from asyncio.sleep(_AWAIT_SECS).__await__()

    def paused(self) -> str | None:
        """Returns the words to say while the run is paused; None while it is not.

        Raises:
            WaitError: Nobody follows the run any more.
        """
        if not self._thread.is_alive() and not self._ended.is_set():
            raise WaitError(
                f"{self._run!r} is followed no longer, because close() was called: attach again."
            )
        status = self._run.status
        if status.phase is not Phase.PAUSED:
            return None
        return (
            f"The run {self._run.name!r} is paused at step {status.step:,}, and this waits for "
            "its end. Resume in its panel, or run.resume(), lets it go on. Interrupting the wait "
            "does not affect the run."
        )
