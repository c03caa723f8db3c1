"""The threads beside a training.

One monitors it, one calls the functions of `run.on`, one encodes pictures, media and the model's
graph, one serves other processes, and one copies the run's folder to its mirror.
"""

from __future__ import annotations

import contextvars
import functools
import threading
import time
from collections.abc import Callable

from nbtrain.core.states import Phase
from nbtrain.run.beside.monitor import TICK_SECS
from nbtrain.run.context import Context
from nbtrain.run.model_graph import ModelGraph
from nbtrain.run.outside.mail import TICK_SECS as MAIL_SECS
from nbtrain.run.outside.mail import Mail
from nbtrain.run.outside.mirror import TICK_SECS as MIRROR_SECS
from nbtrain.run.outside.mirror import Mirror
from nbtrain.run.thread.threads import Coordinator, LooperThread
from nbtrain.rundir.mailbox import Address

# Seconds between two encodings of the waiting samples.
_ENCODE_SECS = 0.2


class MonitorThread(LooperThread):
    """A LooperThread that calls its target once more when it stops, so that nothing is left."""

    def start(self) -> None:
        """Starts the thread outside of any cell's context and state.

        A client shows no picture for an ended cell, and no scope of the cell applies here.
        """
        contextvars.Context().run(threading.Thread.start, self)

    def stop_loop(self) -> None:
        """Does the last tick."""
        self.run_loop()


class MonitorThreads:
    """The threads beside one attempt of a run; any thread.

    Attributes:
        address: The mailbox that is read; None before the start.
        is_over: Whether this tick is the last one, which reads everything.
    """

    def __init__(self, context: Context, graph: ModelGraph) -> None:
        self._context, self._graph = context, graph
        # A separate coordinator: these threads run longer than the loop, and a Supervisor that
        # stops joins every thread of the run's coordinator.
        self._coord = Coordinator()
        self._threads: list[MonitorThread] = []
        self._training: threading.Thread | None = None
        self._mirror: Mirror | None = None
        self.address: Address | None = None
        self.is_over = False

    @property
    def mirrored(self) -> str | None:
        """The state of the mirror in words; None without one."""
        return None if self._mirror is None else self._mirror.text

    def start(self, training: threading.Thread, mail: Mail, mirror: Mirror | None) -> None:
        """Starts the threads, once."""
        self._training, name = training, self._context.folder.name
        self.address, self._mirror = mail.address, mirror
        guarded = self._context.monitor.guarded
        acts: list[tuple[str, float, Callable[[], object]]] = [
            ("watch", TICK_SECS, self._tick),
            ("notify", TICK_SECS, self._notify),
            ("encode", _ENCODE_SECS, self._encode),
            ("mail", MAIL_SECS, functools.partial(guarded, "mail", mail.tick)),
        ]
        if mirror is not None:
            copy = functools.partial(guarded, "mirror", mirror.tick)
            acts.append(("mirror", MIRROR_SECS, copy))
        self._threads = [
            MonitorThread(self._coord, secs, act, name=f"nbtrain {verb} {name}")
            for verb, secs, act in acts
        ]
        for thread in self._threads:
            thread.start()

    def finish_mirror(self) -> None:
        """Waits until the mirror has everything, as long as the copies make progress."""
        if self._mirror is not None:
            self._mirror.finish(self._threads[-1].is_alive)

    def stop(self) -> None:
        """Asks the threads to stop, after a last tick."""
        self._coord.request_stop()

    def drop_unstarted(self) -> None:
        """Forgets threads that could not be started, after their last tick."""
        for thread in [each for each in self._threads if each.ident is None]:
            self._threads.remove(thread)
            thread.stop_loop()

    def join(self, timeout: float) -> None:
        """Waits up to `timeout` seconds for the threads, except for the calling one."""
        deadline = time.monotonic() + timeout
        for thread in self._threads:
            if thread.ident != threading.get_ident():
                thread.join(max(0.0, deadline - time.monotonic()))

    def wait_for_records(self, timeout: float) -> None:
        """Waits up to `timeout` seconds for all records of an attempt that has ended.

        Does not wait for the functions of `run.on`. Returns at once in the monitoring thread.
        """
        for thread in self._threads[:1]:
            if thread.ident != threading.get_ident():
                thread.join(timeout)

    def include(self, ident: int) -> bool:
        """Returns whether a thread identifier belongs to one of the threads."""
        return any(thread.ident == ident for thread in self._threads)

    def _tick(self) -> None:
        context, steps = self._context, self._context.steps
        context.commands.call()
        phase = context.lifecycle.phase
        self.is_over = phase.ended  # even if the run ends meanwhile
        context.monitor.tick(phase, steps.shown, steps.steps_done, self._training)

    def _encode(self) -> None:
        context = self._context
        rests = context.lifecycle.phase is Phase.RUNNING
        encode = functools.partial(context.recorder.samples.encode, rests=rests)
        context.monitor.guarded("encoding", encode)
        context.monitor.guarded("graph", self._graph.tick)

    def _notify(self) -> None:
        self._context.monitor.notify(self._context.lifecycle.phase)
