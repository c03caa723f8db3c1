"""Waits in a cell for the end of a run, and says once that the run is paused."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Generator
from time import monotonic
from typing import Any

from nbtrain.core.errors import WaitError
from nbtrain.core.states import ENDED, Phase
from nbtrain.run import registry
from nbtrain.run.attempt import Attempt

# Seconds between two checks if the run is paused.
_LOOK_SECS = 0.5


class Waiting:
    """One wait for the end of an attempt; any thread except those of the run itself.

    Raises:
        WaitError: The calling thread belongs to the run, and would wait for itself.
    """

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt
        self._context = attempt.context
        self._told = False
        self._check_not_its_own()

    def until_ended(self, timeout: float | None) -> bool:
        """Waits `timeout` seconds and reports pauses meanwhile; tells if the attempt has ended."""
        __tracebackhide__ = True  # IPython shows the lines of the training instead
        until = None if timeout is None else monotonic() + timeout
        while True:
            left = _LOOK_SECS if until is None else until - monotonic()
            if self._attempt.ended.wait(max(0.0, min(left, _LOOK_SECS))):
                return True
            if until is not None and not left > _LOOK_SECS:
                return False
            self._tell_of_pause()

    def awaited(
        self, on_tick: Callable[[Callable[[], object]], Callable[[], None]]
    ) -> Generator[Any, None, None]:
        """Waits without blocking the event loop; reports pauses meanwhile."""
        loop = asyncio.get_running_loop()
        changed = asyncio.Event()
        lifecycle = self._context.lifecycle
        seen: Phase | None = None

        def tell() -> None:
            nonlocal seen
            if loop.is_closed():  # the wait is over
                forget()
            elif (phase := lifecycle.phase) is not seen:  # at the last tick, the run has ended
                seen = phase
                loop.call_soon_threadsafe(changed.set)

        forget = on_tick(tell)
        try:
            while lifecycle.phase not in (Phase.CREATED, *ENDED):
                yield from changed.wait().__await__()
                changed.clear()
                self._tell_of_pause()
        finally:
            forget()

    def _tell_of_pause(self) -> None:
        """Says that the run is paused, once in each pause."""
        told, self._told = self._told, self._context.lifecycle.phase is Phase.PAUSED
        if self._told and not told:
            monitor = self._context.monitor
            why = f" {message}" if (message := monitor.notices.message) else ""
            sys.stderr.write(
                f"nbtrain: The run {self._context.folder.name!r} is paused at step "
                f"{self._context.steps.step:,}, and this waits for its end. "
                f"{registry.how_to_resume(self._context.folder.path)}{why}\n"
            )

    def _check_not_its_own(self) -> None:
        name = self._context.folder.name
        if self._attempt.monitor_threads.include(threading.get_ident()):
            raise WaitError(
                f"A function that the run {name!r} calls cannot wait for its end, which comes "
                'after it: leave out wait(), or use run.on("finished", ...).'
            )
        if threading.get_ident() == self._context.commands.thread:  # also while it evaluates
            raise WaitError(
                f"The training thread of the run {name!r} cannot wait for its own end: leave "
                "the loop, or call request_stop() without wait()."
            )
