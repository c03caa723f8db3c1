"""One start of a run: its threads, its monitor and its step boundary.

attempt = Attempt(...)
attempt.start(session, train)  # starts the training thread, which does this:
    attempt.begin(session)     #   opens the engine's session; restores the latest checkpoint
    train()                    #   runs the loop; every iteration is a step boundary
    attempt.end(error)         #   saves a last checkpoint and closes the session
                               #   joins the loopers and releases the folder
attempt.ended                  # is set

A loop in the foreground calls `begin` and `end` itself: its own thread trains.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import SupportsFloat

import tensorflow as tf

from nbtrain.checkpoints.files import Saver
from nbtrain.core.commands import Save
from nbtrain.core.errors import PhaseError, WaitError
from nbtrain.core.states import Event, Phase
from nbtrain.core.text import tracebacks
from nbtrain.core.text.log_lines import LogLines
from nbtrain.core.text.visible import say
from nbtrain.run.beside.machine import Machine
from nbtrain.run.beside.time_usage import PAUSED
from nbtrain.run.boundary.boundary import Boundary
from nbtrain.run.boundary.loop import Loop
from nbtrain.run.boundary.remote_loop import RemoteLoop
from nbtrain.run.boundary.session_host import SessionHost, owner
from nbtrain.run.boundary.track_loop import TrackLoop
from nbtrain.run.context import Context
from nbtrain.run.evaluator import Evaluation
from nbtrain.run.handle import LoopHandle
from nbtrain.run.model_graph import ModelGraph
from nbtrain.run.monitor_threads import MonitorThreads
from nbtrain.run.output.run_log import RunLog
from nbtrain.run.outside.mail import Mail
from nbtrain.run.outside.mirror import Mirror
from nbtrain.run.process import endings
from nbtrain.run.saving.unsaved import Unsaved
from nbtrain.run.thread.thread_state import ThreadState
from nbtrain.run.thread.threads import names_of_live
from nbtrain.steer import registry, surroundings

_UNHEARD = (
    "SIGTERM and SIGHUP end this process without a last checkpoint: this run was started in "
    "another thread than the main one, in which alone Python can take signals. Start a run in the "
    "main thread, or save often (save_secs=)."
)


# The errors that say that the input is exhausted.
INPUT_ENDS: tuple[type[BaseException], ...] = (StopIteration, tf.errors.OutOfRangeError)


class Attempt:
    """One start of a run.

    Args:
        evaluate: Evaluates the model; None if there is nothing to evaluate.
        lines: The log of the run.
        in_foreground: Whether the thread that starts it trains.
        input_ends: The errors that say that the input is exhausted, and end the loop well.
        abandon: Ends a loop in the foreground that nobody continues; its thread.

    Attributes:
        ended: Set once everything has ended.
        model_graph: Writes the graph of the model, if the engine describes one.
        unsaved: Reports steps that are not saved.
        ident: The identifier of the training thread while it trains; otherwise 0.
    """

    def __init__(
        self,
        context: Context,
        evaluate: Evaluation | None,
        lines: LogLines,
        *,
        in_foreground: bool,
        input_ends: tuple[type[BaseException], ...],
        abandon: Callable[..., object],
    ) -> None:
        self.context = context
        self.ended = threading.Event()
        self.model_graph = ModelGraph(context)
        self.monitor_threads = MonitorThreads(context, self.model_graph)
        self._raised: tuple[BaseException, TracebackType | None] | None = None
        self._stop: Event | None = None  # how the run ends because of a stop; None before one
        evaluation = evaluate and functools.partial(self._evaluate, evaluate)
        self.boundary = Boundary(context, evaluation)
        self.loop = loop = Loop(context, self.boundary)
        self.handle = LoopHandle(
            context,
            self.boundary,
            loop,
            TrackLoop(context, self.boundary, loop, self._is_own_thread),
            SessionHost(context, self.boundary, loop),
            RemoteLoop(context, self.boundary, loop),
            self._is_own_thread,
            lambda: self.ident == 0,
        )
        self.log = RunLog(context, lines, lambda: {context.coord, *self.handle.host.coords})
        self.handle.log.keep = self.log.record
        context.monitor.notices.log = self.log.warning
        self.context.monitor.each_tick |= {
            "hyperparameters": self.boundary.executor.control.flush,
            "log": self.log.drain,
            "media": lambda: context.media.tick(to_end=context.lifecycle.phase.ended),
        }
        if context.settings.system:
            self.context.monitor.each_tick["machine"] = Machine(
                context.folder.path,
                context.recorder.aside,
                lambda: (context.lifecycle.phase, context.steps.shown),
            ).tick
        self.context.monitor.folder.list_again = self.boundary.policy.list_again
        self.unsaved = Unsaved(context, self.boundary.policy)
        self.ident = 0
        self.in_foreground, self._input_ends = in_foreground, input_ends
        self.abandon = abandon
        self._state: ThreadState | None = None  # of the starting thread, if another one trains
        self._opened: contextlib.ExitStack | None = None  # what `begin` has opened

    def start(
        self,
        session: Callable[[], AbstractContextManager[Saver | None]],
        train: Callable[[], None],
        mail: Mail,
        mirror: Mirror | None = None,
    ) -> None:
        """Starts the threads; any thread, once. In the foreground, the calling thread trains."""
        self.context.coord.clear_stop()
        self.context.coord.on_stop = self._on_stop
        self.context.commands.open()
        self.context.monitor.throughput.began = time.monotonic()
        self._state = None if self.in_foreground else ThreadState()
        # The thread uses the context of the starting cell, so its output appears there.
        thread = (
            threading.current_thread()
            if self.in_foreground
            else threading.Thread(
                target=surroundings.current.context().run,
                args=(self._main, session, train),
                name=f"nbtrain train {self.context.folder.name}",
                daemon=True,
            )
        )
        if not endings.enlist(self, thread):
            self.context.monitor.notices.note("signals", _UNHEARD)
        self.monitor_threads.start(thread, mail, mirror)
        if not self.in_foreground:
            thread.start()

    @contextlib.contextmanager
    def starting(self) -> Iterator[None]:
        """Ends the attempt if its start raises an error, as when no more threads can be started."""
        try:
            yield
        except BaseException as error:
            self._join()
            self._close(error)
            self.monitor_threads.drop_unstarted()
            raise

    def save(self) -> Callable[[float], bool]:
        """Asks the attempt to save; any thread.

        Returns:
            A function that waits the given seconds for the answer, and returns whether there is
            one. A failed save is an answer too. While the run stops, its end is the answer.
        """
        if self._stop is not None:
            return self.ended.wait
        receipt = self.context.commands.post(Save(), step=self.step)

        def wait(secs: float) -> bool:
            with contextlib.suppress(WaitError):
                receipt.wait(secs)
            return receipt.outcome is not None

        return wait

    # --- state ----------------------------------------------------------------------

    @property
    def error(self) -> BaseException | None:
        """The error that ended the attempt; None while it runs or if it ended well."""
        return self._raised and self._raised[0]

    @property
    def traceback(self) -> TracebackType | None:
        """The traceback of the error, with the user's lines only; None without an error."""
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

    @property
    def steps_per_s(self) -> float | None:
        """The current speed; after the end, the average of the attempt without its pauses."""
        throughput = self.context.monitor.throughput
        if not throughput.ended:
            return throughput.steps_per_s
        paused = self.context.monitor.time_usage.seconds.get(PAUSED, 0.0)
        secs = throughput.elapsed(throughput.ended) - paused
        return (self.context.steps.steps_done / secs or None) if secs > 0 else None

    def _is_own_thread(self) -> bool:
        return threading.get_ident() == self.ident

    # --- training thread --------------------------------------------------------------

    def _main(
        self, session: Callable[[], AbstractContextManager[Saver | None]], train: Callable[[], None]
    ) -> None:
        error: BaseException | None = None
        try:
            self.begin(session)
            if self.context.lifecycle.phase is not Phase.STOPPING:
                train()
        except BaseException as raised:  # noqa: BLE001 - kept, and raised again by wait()
            error = raised
        self.end(error)

    def begin(self, session: Callable[[], AbstractContextManager[Saver | None]]) -> None:
        """Opens the session, and restores the latest checkpoint; the calling thread trains."""
        self.ident = self.context.commands.thread = threading.get_ident()
        owner.set(self.handle.host)
        self.context.monitor.guarded("display", surroundings.current.enter)
        with contextlib.ExitStack() as opened:
            if self._state is not None:
                opened.enter_context(self._state.entered())
            opened.enter_context(self.log.listening())
            opened.enter_context(self.handle.log.listening())
            saver = opened.enter_context(session())
            opened.enter_context(self.handle.host.left_open)
            self.loop.resume(saver)
            self._opened = opened.pop_all()

    def end(self, error: BaseException | None, *, complete: bool = True) -> None:
        """Saves a last checkpoint, closes the session and ends the attempt.

        Called after `begin`, even if `begin` has raised an error. Another thread calls this if the
        garbage collector ends a loop in the foreground.

        Args:
            error: The error that ended the loop. The end of its input does not count as one.
            complete: Whether the current step was completed, so that it counts.

        Raises:
            KeyboardInterrupt: An interrupt has ended the last save of a loop in the foreground.
        """
        self.ident = self.context.commands.thread = threading.get_ident()
        interrupt: BaseException | None = None
        try:
            if self._opened is None:
                error = error and self._unless_stopped(error)
            else:
                with self._opened:
                    error = self._of_loop(error)
                    self.loop.end(finished=error is None and complete)
        except BaseException as raised:  # noqa: BLE001 - kept, and raised again by wait()
            if self._is_interrupt(raised):
                interrupt = raised
                self._say_interrupted()
            else:
                error = error or self._unless_stopped(raised)
        finally:
            self._opened = None
            self.context.monitor.time_usage.end()
            late = self._join()
            if self._is_interrupt(late):
                interrupt, late = interrupt or late, None
            self._close(error or late)
            owner.set(None)
        if interrupt is not None:
            raise interrupt

    def _is_interrupt(self, error: BaseException | None) -> bool:
        """Returns whether an error is meant for the program that loops."""
        return self.in_foreground and isinstance(error, (KeyboardInterrupt, SystemExit))

    def _say_interrupted(self) -> None:
        """Stops the run, whose last save was interrupted, and reports which steps are not saved."""
        policy = self.boundary.policy
        self.context.coord.request_stop()
        if policy.can_save:
            policy.list_again()  # the checkpoint may be there all the same
            text = self.unsaved.say("The last save was interrupted", yet=False)
            self.context.monitor.notices.note("save", text)
            say(f"nbtrain: {text}")

    def _of_loop(self, error: BaseException | None) -> BaseException | None:
        """Returns the error that ended the loop, its own or that of a thread of the coordinator."""
        if error is None:
            try:
                self.context.coord.raise_requested_exception()
            except BaseException as raised:  # noqa: BLE001 - kept, and raised again by wait()
                error = raised
        if error is None or isinstance(error, self._input_ends):
            return None
        return self._unless_stopped(error)

    def _evaluate(self, evaluate: Evaluation) -> Mapping[str, SupportsFloat]:
        """Evaluates; `should_stop()` is no step boundary inside the evaluation."""
        self.ident = self.context.steps.thread = 0
        try:
            return evaluate()
        finally:
            self.ident = self.context.commands.thread

    def _unless_stopped(self, error: BaseException) -> BaseException | None:
        """Returns the error; None if it only says that a stop has cancelled a wait."""
        caused = self._stop is not None and isinstance(error, tf.errors.CancelledError)
        return None if caused else error

    # --- stop and end ---------------------------------------------------------------

    def _join(self) -> BaseException | None:
        """Ends the threads of the coordinator; returns the first error that one of them raised."""
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
        event = self._stop or Event.FINISHED
        if error is None and event is Event.FINISHED:  # a program without a step
            context.monitor.write_from_here()
        self.ident = context.commands.thread = 0  # the system reuses identifiers
        graph = functools.partial(self.model_graph.tick, ends=True)
        in_order: tuple[Callable[[], object], ...] = (
            lambda: self._write_end(error, event),
            lambda: context.commands.close("the run has ended", step=self.step),
            context.coord.request_stop,
            lambda: context.recorder.samples.finish(context.settings.stop_grace_secs),
            lambda: context.monitor.guarded("graph", graph),
            lambda: self._close_recorder(error),
            self.monitor_threads.finish_mirror,
            lambda: registry.release(context.folder.name),
            context.folder.release,
            lambda: context.lifecycle.apply(Event.FAILED if error else event),
            self.monitor_threads.stop,
            lambda: endings.dismiss(self),
            self.ended.set,
        )
        with contextlib.ExitStack() as stack:
            for act in reversed(in_order):
                stack.callback(act)

    def _write_end(self, error: BaseException | None, event: Event) -> None:
        """Writes how the attempt has ended, while its folder is still locked."""
        context, step = self.context, self.step
        if error is not None:
            self._raised = error, tracebacks.of_the_user(error.__traceback__)
        context.monitor.throughput.ended = time.monotonic()
        with contextlib.suppress(PhaseError):  # it failed while preparing
            context.lifecycle.apply(Event.LOOP_ENDED)
        context.monitor.folder.poll(step, last=True)
        text = tracebacks.named(error) if error is not None else ""
        how = "failed" if error else str(event)
        self.boundary.executor.end(how)
        context.monitor.log(event=how, step=step, text=text)
        context.monitor.write_journal()
        context.monitor.drop_held_back()
        if saved := self.unsaved.say_saved():
            endings.say(saved)

    def _close_recorder(self, error: BaseException | None) -> None:
        """Closes the event file; deletes it if the start has changed nothing."""
        if self.context.monitor.holds_back:
            self.context.recorder.delete_event_file()
        else:
            self.context.recorder.close(failed=error is not None)

    def _on_stop(self) -> None:
        """Handles a stop that any thread has requested from the coordinator."""
        context = self.context
        with contextlib.suppress(PhaseError):  # the run is stopping already, or has ended
            context.lifecycle.apply(Event.STOP)
            self._stop = Event.FINISHED if context.coord.exhausted else Event.STOPPED
            context.monitor.notices.stop_asked()
        self.handle.host.stop()
        context.commands.wake()
