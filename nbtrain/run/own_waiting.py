"""Waits for the end of a run of this process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from typing import Any

from nbtrain.core.errors import WaitError
from nbtrain.core.states import ENDED, Phase
from nbtrain.run.attempt import Attempt
from nbtrain.run.context import Context
from nbtrain.steer import surroundings
from nbtrain.steer.surroundings import Wait
from nbtrain.steer.waiting import Waiting


class OwnWaiting(Waiting):
    """One wait for the end of an attempt; any thread except those of the run itself.

    Raises:
        WaitError: The calling thread belongs to the run, and would wait for itself.
    """

    def __init__(self, attempt: Attempt) -> None:
        super().__init__(attempt.ended)
        self._attempt = attempt
        self._context = attempt.context
        self._check_not_its_own()

    def awaited(
        self, on_tick: Callable[[Callable[[], object]], Callable[[], None]]
    ) -> Generator[Any, None, None]:
        """Waits without blocking the event loop; reports pauses meanwhile."""
        loop = asyncio.get_running_loop()
        changed = asyncio.Event()
        lifecycle = self._context.lifecycle
        seen: Phase | None = None

        def notify() -> None:
            nonlocal seen
            if loop.is_closed():  # the wait is over
                forget()
            elif (phase := lifecycle.phase) is not seen:  # at the last tick, the run has ended
                seen = phase
                loop.call_soon_threadsafe(changed.set)

        forget = on_tick(notify)
        try:
            while lifecycle.phase not in (Phase.CREATED, *ENDED):
                yield from changed.wait().__await__()
                changed.clear()
                self._pauses.report()
        finally:
            forget()

    def paused(self) -> str | None:
        """Returns the message for a paused run; None while the run is not paused."""
        return words_of_pause(self._context, Wait.OWN)

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


def words_of_pause(context: Context, wait: Wait) -> str | None:
    """Returns a message that a run is paused and how to resume it; None while it is not paused.

    Args:
        wait: What waits in the program.
    """
    if context.lifecycle.phase is not Phase.PAUSED:
        return None
    why = f" {message}" if (message := context.monitor.notices.message) else ""
    waits = "so is its loop" if wait is Wait.LOOP else "this waits for its end"
    how = surroundings.current.how_to_resume(context.folder.path, wait)
    return (
        f"The run {context.folder.name!r} is paused at step {context.steps.shown:,}, and {waits}. "
        f"{how}{why}"
    )
