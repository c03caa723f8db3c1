"""One start of a run, from a start to its end: its threads, its watch, its boundary.

attempt = Attempt(...)
attempt.start(session, train)     # whoever starts it; from here on in its training thread:
    with session() as saver:   #   the engine's: it goes on from the latest checkpoint
        train()                #   the loop; each of its turns is a step boundary
                               #   a last checkpoint, and the session closes
                               #   its loops are joined; what it held is let go
attempt.ended                     # set
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import SupportsFloat

import tensorflow as tf

from nbtrain.checkpoints.files import Saver
from nbtrain.core import tracebacks
from nbtrain.core.commands import Save
from nbtrain.core.errors import BusyError, PhaseError, WaitError
from nbtrain.core.states import Event, Phase
from nbtrain.run import claims, endings, roster
from nbtrain.run.boundary import Boundary
from nbtrain.run.context import Context
from nbtrain.run.evaluator import Evaluation
from nbtrain.run.handle import LoopHandle
from nbtrain.run.log import Log
from nbtrain.run.loops import OwnLoop, StepLoop
from nbtrain.run.monitor_threads import MonitorThreads
from nbtrain.run.owner import owner
from nbtrain.run.session_host import SessionHost
from nbtrain.run.session_loop import SessionLoop
from nbtrain.run.switching import begin_short_turns, end_short_turns
from nbtrain.run.threads import names_of_live
from nbtrain.run.time_usage import PAUSED
from nbtrain.run.unsaved import Unsaved

_UNHEARD = (
    "SIGTERM and SIGHUP end this process without a last checkpoint: this run was started in "
    "another thread than the main one, in which alone Python can take signals. Start a run in the "
    "main thread, or save often (save_secs=)."
)


class Attempt:
    """One start of a run.

    Args:
        context: Its collaborators.
        evaluate: Evaluates what is trained; None where there is nothing to evaluate.
        again: Whether an earlier life was recorded.

    Attributes:
        context: As given.
        boundary: Its step boundary.
        session: The session that the loop has open.
        loop: The loop that asks once a step whether to stop.
        session_host: Takes in the sessions that its loop opens.
        unsaved: Tells of what is not saved.
        handle: The loop, as an engine sees it.
        log: What TensorFlow logged in the training thread.
        ident: Of the training thread while it trains, or else 0.
        error: What ended it, once it has ended; None where it ended well.
        traceback: Of `error`, from the user's own lines on.
        ended: Set when all is over.
    """

    def __init__(self, context: Context, evaluate: Evaluation | None, *, again: bool) -> None:
        self.context = context
        self.boundary = Boundary(
            context, evaluate and functools.partial(self._evaluate, evaluate), again=again
        )
        self.session = SessionLoop(context, self.boundary)
        self.loop = OwnLoop(context, self.boundary, self.session)
        self.session_host = SessionHost(context, self.boundary, self.session, self.loop)
        self.context.monitor.each_tick = [self.boundary.flush]
        self.context.monitor.each_second = [self.boundary.policy.list_again]
        self.unsaved = Unsaved(context, self.boundary.policy)
        self.log = Log()
        self.ident = 0
        self.handle = LoopHandle(
            self.loop,
            self.session_host,
            context,
            self.log,
            lambda: threading.get_ident() == self.ident,
        )
        self.error: BaseException | None = None
        self.traceback: TracebackType | None = None
        self.ended = threading.Event()
        self._beside = MonitorThreads(context)
        self._stopping = self._asked_to_stop = False  # by whomever; by somebody else
        self._began = self._ended_at = 0.0

    def start(
        self, session: Callable[[], AbstractContextManager[Saver | None]], train: Callable[[], None]
    ) -> None:
        """Start its threads; any thread, once.

        Args:
            session: Opens what is trained, in the training thread.
            train: The loop.

        Raises:
            RuntimeError: No thread can be started; it has failed.
        """
        self.context.coord.clear_stop()
        self.context.coord.on_stop = self._on_stop
        self.context.commands.open()
        self._began = time.monotonic()
        # In the context of the starting cell: what the training prints appears under it.
        thread = threading.Thread(
            target=roster.context().run,
            args=(self._main, session, train),
            name=f"nbtrain train {self.context.folder.name}",
            daemon=True,
        )
        if not endings.enlist(self, thread):
            self.context.monitor.note("signals", _UNHEARD)
        try:
            self._beside.start(thread)
            thread.start()
        except BaseException as error:  # the process has as many threads as it may
            self._join()
            self._close(error)
            self._beside.drop_unstarted()
            raise

    def drive(self, step: Callable[[], Mapping[str, SupportsFloat]]) -> None:
        """Call `step` and record what it returns, until the run stops; training thread only."""
        StepLoop(self.context, self.boundary, self.session, self.loop).drive(step)

    def join(self, timeout: float) -> None:
        """Wait for the last round of its watch, once it has ended; not in that round itself."""
        self._beside.join(timeout)

    def stop(self) -> None:
        """Ask it to stop; any thread."""
        self.context.coord.request_stop()

    def save(self) -> Callable[[float], bool]:
        """Ask it to save; any thread. Returns what waits so many seconds for the answer.

        It answers also where it cannot save. One that stops has saved once it has ended.
        """
        if self._stopping:
            return self.ended.wait
        receipt = self.context.commands.post(Save(), step=self.step)

        def wait(secs: float) -> bool:
            with contextlib.suppress(WaitError):
                receipt.wait(secs)
            return receipt.outcome is not None

        return wait

    def is_watched_by(self, ident: int) -> bool:
        """Whether this is a thread of its watch."""
        return self._beside.include(ident)

    # --- what it says of itself -----------------------------------------------------

    @property
    def grace(self) -> float:
        """Seconds that the end of the process waits for it."""
        return self.context.settings.grace

    @property
    def step(self) -> int:
        """Steps that it has completed."""
        return self.context.steps.step

    @property
    def elapsed_s(self) -> float:
        """Seconds since its start, up to its end."""
        return (self._ended_at or time.monotonic()) - self._began if self._began else 0.0

    @property
    def steps_per_s(self) -> float | None:
        """Of the last seconds; once it has ended of the whole life, but for its pauses."""
        if not self._ended_at:
            return self.context.monitor.throughput.steps_per_s
        secs = self.elapsed_s - self.context.monitor.time_usage.seconds.get(PAUSED, 0.0)
        return (self.context.steps.steps_done / secs or None) if secs > 0 else None

    @property
    def threads(self) -> tuple[str, ...]:
        """Names of the live threads under its coordinators."""
        coords = {self.context.coord, *self.session_host.coords}
        return tuple(sorted(name for coord in coords for name in names_of_live(coord)))

    # --- training thread --------------------------------------------------------------

    def _main(
        self, session: Callable[[], AbstractContextManager[Saver | None]], train: Callable[[], None]
    ) -> None:
        error: BaseException | None = None
        self.ident = self.context.commands.thread = threading.get_ident()
        owner.set(self.session_host)
        try:
            with (
                self.log.listening(),
                session() as saver,
                self.session_host.left_open,
            ):
                self.session.go_on(saver)
                error = self._train(train)
                self.session.leave(finished=error is None)
        except BaseException as raised:  # noqa: BLE001 - kept, and raised again by wait()
            error = error or self._unless_stopped(raised)
        finally:
            self.context.monitor.time_usage.end()
            late = self._join()
            self._close(error or late)

    def _train(self, train: Callable[[], None]) -> BaseException | None:
        try:
            if self.context.lifecycle.phase is not Phase.STOPPING:
                train()
            self.context.coord.raise_requested_exception()
        except (StopIteration, tf.errors.OutOfRangeError):
            pass  # the input is exhausted
        except BaseException as error:  # noqa: BLE001 - kept, and raised again by wait()
            return self._unless_stopped(error)
        return None

    def _evaluate(self, evaluate: Evaluation) -> Mapping[str, SupportsFloat]:
        """Evaluate; `should_stop()` in it is no step boundary, as in any other thread."""
        self.ident = self.context.steps.thread = 0
        try:
            return evaluate()
        finally:
            self.ident = self.context.commands.thread

    def _unless_stopped(self, error: BaseException) -> BaseException | None:
        """The error; None for the end of a wait that a stop has ended."""
        caused = self._stopping and isinstance(error, tf.errors.CancelledError)
        return None if caused else error

    def _join(self) -> BaseException | None:
        """End the threads of its coordinator; returns the error of one."""
        self.context.coord.on_stop = None
        self.context.coord.request_stop()
        try:
            grace_secs = self.context.settings.stop_grace_secs
            self.context.coord.join(stop_grace_period_secs=grace_secs, ignore_live_threads=True)
        except BaseException as error:  # noqa: BLE001 - kept, and raised again by wait()
            return error
        if self.threads:
            self.context.monitor.note(
                "threads", f"Threads that have not ended: {', '.join(self.threads)}."
            )
        return None

    def _close(self, error: BaseException | None) -> None:
        """End it; whatever fails here, the rest is still done."""
        context = self.context
        event = Event.STOPPED if self._asked_to_stop else Event.FINISHED
        step = self.step
        self.ident = context.commands.thread = 0  # the system gives it to other threads
        with contextlib.ExitStack() as last_first:
            last_first.callback(end_short_turns, self)
            last_first.callback(self.ended.set)
            last_first.callback(endings.dismiss, self)
            last_first.callback(self._beside.stop)
            last_first.callback(lambda: context.lifecycle.apply(Event.FAILED if error else event))
            last_first.callback(context.folder.release)
            last_first.callback(claims.leave, context.folder.name)
            last_first.callback(context.recorder.close, failed=error is not None)
            last_first.callback(context.coord.request_stop)
            last_first.callback(context.commands.close, "the run has ended", step=step)
            if error is not None:
                self.error, self.traceback = error, tracebacks.of_the_user(error.__traceback__)
            self._ended_at = time.monotonic()
            with contextlib.suppress(PhaseError):  # unless it failed while preparing
                context.lifecycle.apply(Event.LOOP_ENDED)
            with contextlib.suppress(BusyError):
                context.monitor.folder.make_sure(step)
            text = tracebacks.named(error) if error is not None else ""
            how = "failed" if error else str(event)
            self.boundary.end(how)
            context.monitor.log(event=how, step=step, text=text)
            context.monitor.write_journal()  # while the folder is held
            if saved := self.unsaved.say_saved():
                endings.say(saved)

    # --- other threads ------------------------------------------------------------------

    def _on_stop(self) -> None:
        """The coordinator was asked to stop, by whomever."""
        context = self.context
        with contextlib.suppress(PhaseError):  # it is stopping already, or has ended
            context.lifecycle.apply(Event.STOP)
            self._stopping, self._asked_to_stop = True, not context.coord.exhausted
            context.monitor.stop_asked()
            begin_short_turns(self)
            if self.ended.is_set():  # in between
                end_short_turns(self)
        self.session_host.stop()
        context.commands.wake()
