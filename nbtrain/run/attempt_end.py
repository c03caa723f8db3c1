"""The stop and the end of an attempt.

Its threads end, its folder is released, and its phase is final.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from types import TracebackType

from nbtrain.core.errors import PhaseError
from nbtrain.core.states import Event
from nbtrain.core.text import tracebacks
from nbtrain.run.boundary.boundary import Boundary
from nbtrain.run.context import Context
from nbtrain.run.handle import LoopHandle
from nbtrain.run.model_graph import ModelGraph
from nbtrain.run.monitor_threads import MonitorThreads
from nbtrain.run.process import endings
from nbtrain.run.saving.unsaved import Unsaved
from nbtrain.run.thread.threads import names_of_live
from nbtrain.steer import registry


class AttemptEnd:
    """The stop of an attempt, by any thread, and its end in the training thread.

    Attributes:
        ended: Set at the end of all.
        model_graph: Writes the graph of the model, if the engine gives one.
    """

    boundary: Boundary
    handle: LoopHandle
    unsaved: Unsaved
    ident: int

    def __init__(self, context: Context) -> None:
        self.context = context
        self.ended = threading.Event()
        self.model_graph = ModelGraph(context)
        self.monitor_threads = MonitorThreads(context, self.model_graph)
        self._raised: tuple[BaseException, TracebackType | None] | None = None
        self._stopped_by: str | None = None  # "the program" or "the user"; None before a stop

    @property
    def error(self) -> BaseException | None:
        """The error that ended the attempt; None while it runs or if it ended well."""
        return self._raised and self._raised[0]

    @property
    def traceback(self) -> TracebackType | None:
        """The lines of the user that have raised it."""
        return self._raised and self._raised[1]

    @property
    def step(self) -> int:
        """Completed steps."""
        return self.context.steps.step

    @property
    def threads(self) -> tuple[str, ...]:
        """Names of the live threads of all its coordinators, sorted."""
        coords = {self.context.coord, *self.handle.host.coords}
        return tuple(sorted(name for coord in coords for name in names_of_live(coord)))

    def _join(self) -> BaseException | None:
        """Ends the threads of the coordinator; returns the first error of one."""
        self.context.coord.on_stop = None
        self.context.coord.request_stop()
        try:
            grace_secs = self.context.settings.stop_grace_secs
            self.context.coord.join(stop_grace_period_secs=grace_secs, ignore_live_threads=True)
        except BaseException as error:  # noqa: BLE001 - kept, and raised again by wait()
            return error
        if self.threads:
            self.context.monitor.notices.note(
                "threads", f"Threads that have not ended: {', '.join(self.threads)}."
            )
        return None

    def _close(self, error: BaseException | None) -> None:
        """Ends the attempt; if one part fails, the others are still done."""
        context = self.context
        event = Event.STOPPED if self._stopped_by == "the user" else Event.FINISHED
        if error is None and event is Event.FINISHED:  # a program without a step
            context.monitor.write_from_here()
        step = self.step
        self.ident = context.commands.thread = 0  # the system reuses identifiers
        with contextlib.ExitStack() as last_first:
            last_first.callback(self.ended.set)
            last_first.callback(endings.dismiss, self)
            last_first.callback(self.monitor_threads.stop)
            last_first.callback(lambda: context.lifecycle.apply(Event.FAILED if error else event))
            last_first.callback(context.folder.release)
            last_first.callback(registry.release, context.folder.name)
            last_first.callback(self.monitor_threads.finish_mirror)
            if context.monitor.holds_back:
                last_first.callback(context.recorder.delete_event_file)
            else:
                last_first.callback(context.recorder.close, failed=error is not None)
            graph = functools.partial(self.model_graph.tick, ends=True)
            last_first.callback(context.monitor.guarded, "graph", graph)
            last_first.callback(context.recorder.samples.finish, context.settings.stop_grace_secs)
            last_first.callback(context.coord.request_stop)
            last_first.callback(context.commands.close, "the run has ended", step=step)
            if error is not None:
                self._raised = error, tracebacks.of_the_user(error.__traceback__)
            context.monitor.throughput.ended = time.monotonic()
            with contextlib.suppress(PhaseError):  # it failed while preparing
                context.lifecycle.apply(Event.LOOP_ENDED)
            context.monitor.folder.look(step, last=True)
            text = tracebacks.named(error) if error is not None else ""
            how = "failed" if error else str(event)
            self.boundary.executor.end(how)
            context.monitor.log(event=how, step=step, text=text)
            context.monitor.write_journal()  # while the folder is still locked
            context.monitor.drop_held_back()
            if saved := self.unsaved.say_saved():
                endings.say(saved)

    def _on_stop(self) -> None:
        """Handles a stop that anyone has requested from the coordinator."""
        context = self.context
        with contextlib.suppress(PhaseError):  # the run is stopping already, or has ended
            context.lifecycle.apply(Event.STOP)
            self._stopped_by = "the program" if context.coord.exhausted else "the user"
            context.monitor.notices.stop_asked()
        self.handle.host.stop()
        context.commands.wake()
