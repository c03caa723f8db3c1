"""The two threads beside a training: one monitors it, the other calls the functions of `run.on`."""

from __future__ import annotations

import contextvars
import threading
import time

from nbtrain.run.context import Context
from nbtrain.run.monitor import TICK_SECS
from nbtrain.run.threads import Coordinator, LooperThread


class MonitorThread(LooperThread):
    """A LooperThread that calls its target once more when it stops, so that nothing is left."""

    def stop_loop(self) -> None:
        """Does the last tick."""
        self.run_loop()


class MonitorThreads:
    """The threads beside one attempt of a run; any thread."""

    def __init__(self, context: Context) -> None:
        self._context = context
        # A separate coordinator: these threads run longer than the loop, and a Supervisor that
        # stops joins every thread of the run's coordinator.
        self._coord = Coordinator()
        self._threads: list[MonitorThread] = []
        self._training: threading.Thread | None = None

    def start(self, training: threading.Thread) -> None:
        """Starts the threads, once."""
        self._training, name = training, self._context.folder.name
        self._threads = [
            MonitorThread(self._coord, TICK_SECS, act, name=f"nbtrain {verb} {name}")
            for verb, act in (("watch", self._tick), ("tell", self._tell))
        ]
        for thread in self._threads:
            # Outside of any cell's context: a client takes no picture for an ended cell.
            contextvars.Context().run(thread.start)

    def stop(self) -> None:
        """Asks the threads to stop, after a last tick."""
        self._coord.request_stop()

    def drop_unstarted(self) -> None:
        """Forgets threads that could not be started, after their last tick."""
        for thread in [each for each in self._threads if each.ident is None]:
            self._threads.remove(thread)
            thread.stop_loop()

    def join(self, timeout: float) -> None:
        """Waits up to `timeout` seconds for the threads, but not for the calling one."""
        deadline = time.monotonic() + timeout
        for thread in self._threads:
            if thread.ident != threading.get_ident():
                thread.join(max(0.0, deadline - time.monotonic()))

    def include(self, ident: int) -> bool:
        """Tells if a thread identifier belongs to one of the threads."""
        return any(thread.ident == ident for thread in self._threads)

    def _tick(self) -> None:
        context, steps = self._context, self._context.steps
        context.commands.call()
        phase = context.lifecycle.phase
        context.monitor.tick(phase, steps.step, steps.steps_done, self._training)

    def _tell(self) -> None:
        self._context.monitor.tell(self._context.lifecycle.phase)
