"""The two threads beside a training: one watches it, the other tells who wants to know."""

from __future__ import annotations

import contextvars
import threading
import time

from nbtrain.run.context import Context
from nbtrain.run.monitor import TICK_SECS, MonitorThread
from nbtrain.run.threads import Coordinator


class MonitorThreads:
    """The threads beside one attempt of a run; any thread.

    Args:
        context: The collaborators of the attempt.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        # Under a coordinator of its own: it outlives the stop of the loop that it serves,
        # and a Supervisor that stops joins every thread of the run's.
        self._coord = Coordinator()
        self._threads: list[MonitorThread] = []
        self._training: threading.Thread | None = None

    def start(self, training: threading.Thread) -> None:
        """Start them, once.

        Args:
            training: The training thread.

        Raises:
            RuntimeError: The process has as many threads as it may.
        """
        self._training, name = training, self._context.folder.name
        self._threads = [
            MonitorThread(self._coord, TICK_SECS, act, name=f"nbtrain {verb} {name}")
            for verb, act in (("watch", self._tick), ("tell", self._tell))
        ]
        for thread in self._threads:
            # In no cell's context: a client takes no picture for a cell that has ended.
            contextvars.Context().run(thread.start)

    def stop(self) -> None:
        """Have them end, after a last round."""
        self._coord.request_stop()

    def drop_unstarted(self) -> None:
        """Forget those that could not be started."""
        for thread in [each for each in self._threads if each.ident is None]:
            self._threads.remove(thread)
            thread.stop_loop()

    def join(self, timeout: float) -> None:
        """Wait for their last round; not in that round itself."""
        deadline = time.monotonic() + timeout
        for thread in self._threads:
            if thread.ident != threading.get_ident():
                thread.join(max(0.0, deadline - time.monotonic()))

    def include(self, ident: int) -> bool:
        """Whether this is one of them."""
        return any(thread.ident == ident for thread in self._threads)

    def _tick(self) -> None:
        context, steps = self._context, self._context.steps
        context.commands.call()
        phase = context.lifecycle.phase
        context.monitor.tick(phase, steps.step, steps.steps_done, self._training)

    def _tell(self) -> None:
        self._context.monitor.tell(self._context.lifecycle.phase)
