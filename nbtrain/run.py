"""A run: one training thread, its coordinator, and the step boundary.

run = Run(engine, logdir, settings)     # created
run.start()                             # preparing: the engine opens its session,
                                        #   and goes on from the latest checkpoint
    while not run.should_stop():        # training thread; each call is a boundary:
        run.record(loss=...)            #   count the step, hand its record over,
                                        #   save if due, execute commands, pause
run.save(); run.pause(); ...            # any thread: a receipt each
run.wait()                              # finished, stopped, or the error raised
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import contextvars
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Protocol, SupportsFloat

import tensorflow as tf

from nbtrain import claims, frames
from nbtrain.boundary import Boundary
from nbtrain.cadence import Every
from nbtrain.checkpoints import Saver
from nbtrain.commands import Command, CommandQueue, Pause, Receipt, Restore, Resume, Save, Stop
from nbtrain.errors import ArgumentError, BusyError, PhaseError, WaitError
from nbtrain.log import Log
from nbtrain.logdir import Logdir, unwritable
from nbtrain.names import Names
from nbtrain.owner import owner
from nbtrain.recorder import Recorder
from nbtrain.settings import Settings
from nbtrain.states import ENDED, Checkpoint, Event, Lifecycle, Phase, Status
from nbtrain.store import ScalarStore
from nbtrain.threads import Coordinator, LooperThread
from nbtrain.watch import TICK_SECS, Watch, WatchThread

# Jupyter kills a kernel that has not ended 5 s after it was asked to.
_EXIT_SECS = 4.0

# Not None: that is what a step function returns which forgot its return.
_NO_VALUES: Mapping[str, SupportsFloat] = {}


class Engine(Protocol):
    """What trains: it opens a session, and owns the loop or hands it to the user."""

    @property
    def kind(self) -> str:
        """What trains, in words."""

    @property
    def coord(self) -> Coordinator:
        """The coordinator of its threads."""

    @property
    def functions(self) -> Sequence[object]:
        """What of the user's own is called at every step."""

    def models(self) -> list[object]:
        """Objects that only one run at a time may train, as far as the engine knows."""

    def session(self) -> AbstractContextManager[Saver | None]:
        """Make ready to train, and clean up after; training thread."""

    def train(self, run: Run) -> None:
        """Loop until `run.should_stop()`; training thread."""


class Run:
    """A training that runs in the background and is steered from anywhere.

    Methods may be called from any thread and return at once, except where they say
    otherwise. `nbtrain.train`, `supervise` and `background` make one.

    Args:
        engine: What trains.
        logdir: Its folder.
        settings: How long, and when to save.
    """

    def __init__(self, engine: Engine, logdir: Logdir, settings: Settings) -> None:
        self.name = logdir.name
        self.logdir = logdir.path
        self.coord = engine.coord
        self.scalars = ScalarStore()
        self.error: BaseException | None = None
        self.receipts: deque[Receipt] = deque(maxlen=8)
        self._engine = engine
        self._folder = logdir
        self._settings = settings
        self._lifecycle = Lifecycle()
        self._commands = CommandQueue()
        self._listeners: list[Callable[[], object]] = []
        self._thread: threading.Thread | None = None
        self._ident = 0  # of the training thread
        self._adopted: tf.train.Coordinator | None = None
        self._traceback: TracebackType | None = None
        self._began = self._ended_at = 0.0
        self._live(None, Names(()))
        self.coord.on_stop = self._on_stop

    def _live(self, recorder: Recorder | None, names: Names) -> None:
        """Make what belongs to one life of the run: of the one before nothing is left."""
        self._ended = threading.Event()
        self._asked_to_stop = False
        self._log = Log()
        # Under a coordinator of its own: it outlives the stop of the loop that it serves,
        # and a Supervisor that stops joins every thread of the run's.
        self._services = Coordinator()
        self._recorder = recorder or Recorder(self.scalars, None)
        self._watch = Watch(self._recorder, self._folder, grace_secs=self._settings.stop_grace_secs)
        self._watch.listeners = self._listeners
        self._boundary = Boundary(
            self._settings,
            self._lifecycle,
            self._commands,
            self._recorder,
            self._watch,
            names,
            again=bool(self.scalars),
        )
        self._watch.each_second = [self._boundary.list_again]

    # --- life -------------------------------------------------------------------

    def start(self) -> Run:
        """Start the training thread, from the latest checkpoint of the folder if there is one.

        Raises:
            PhaseError: It has been started and has not ended.
            BusyError: Another run holds the folder or the model.
            ArgumentError: The folder cannot be written any more.
        """
        if not self._lifecycle.allows(Event.START):
            self._lifecycle.apply(Event.START)  # raises, naming what is possible
        with contextlib.ExitStack() as undo:
            self._folder.acquire()
            undo.callback(self._folder.discard)
            names = Names(self._engine.functions)
            claims.enter(self.name, lambda: self._engine.models() + names.trained(), self.__repr__)
            undo.callback(claims.leave, self.name)
            try:
                recorder = Recorder(self.scalars, self.logdir)
            except OSError as unwritten:
                raise unwritable(self.logdir, unwritten) from None
            self._live(recorder, names)
            self._lifecycle.apply(Event.START)
            undo.pop_all()  # from here on, _close() undoes it
        self._watch.log(event="start", step=0, name=self.name, total_steps=self._settings.steps)
        self.error = self._traceback = None
        self.coord.clear_stop()
        self._commands.open()
        self._began, self._ended_at = time.monotonic(), 0.0
        _runs.pop(self.name, None)
        _runs[self.name] = self
        # In the context of the starting cell: what the training prints appears under it.
        self._thread = threading.Thread(
            target=contextvars.copy_context().run,
            args=(self._main,),
            name=f"nbtrain train {self.name}",
            daemon=True,
        )
        self._looper = WatchThread(
            self._services, TICK_SECS, self._tick, name=f"nbtrain watch {self.name}"
        )
        self._looper.start()
        self._thread.start()
        return self

    def wait(self, timeout: float | None = None) -> Run:
        """Block until the run has ended; an interrupt ends the wait, not the training.

        Args:
            timeout: Seconds to wait at most; None for as long as it takes.

        Returns:
            The run itself, so that a cell shows how it ended.

        Raises:
            WaitError: It goes on after `timeout` seconds.
            PhaseError: It has not been started.
            BaseException: What the training raised, with the line that raised it.
        """
        __tracebackhide__ = True  # IPython shows the lines of the training instead
        if self._lifecycle.phase is Phase.CREATED:
            raise PhaseError("Cannot wait for a run that was not started; call start() first.")
        if not self._ended.wait(timeout):
            raise WaitError(
                f"After {timeout:g} s of waiting the run goes on ({self!r}): wait again, or call "
                "request_stop()."
            )
        self._looper.join(timeout=10.0)
        if self.error is not None:
            raise self.error.with_traceback(self._traceback)
        return self

    def __await__(self) -> Generator[Any, None, Run]:
        """Wait without blocking the kernel's event loop: `await run`."""
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()

        def tell() -> None:
            if self._lifecycle.phase.ended:  # always so at the last tick
                loop.call_soon_threadsafe(ended.set)

        self.on_tick(tell)
        try:
            if self._lifecycle.phase not in (Phase.CREATED, *ENDED):
                yield from ended.wait().__await__()
        finally:
            self._listeners.remove(tell)
        return self.wait()

    def loop(
        self,
        secs: float | None,
        target: Callable[..., object],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:
        """Call `target` every `secs` seconds until the run stops, as `Supervisor.loop` does.

        An error of `target` stops the run, which then fails with it.
        """
        name = f"nbtrain {self.name}: {getattr(target, '__name__', 'loop')}"
        looper = LooperThread(self.coord, secs, target, name=name, args=args, kwargs=kwargs)
        looper.start()
        return looper

    # --- steering ---------------------------------------------------------------

    def request_stop(self) -> Receipt:
        """End the run after the step at hand, with a last checkpoint."""
        return self.post(Stop())

    def pause(self) -> Receipt:
        """Take no further step until resumed; saving and restoring still work."""
        return self.post(Pause())

    def resume(self) -> Receipt:
        """Go on after a pause."""
        return self.post(Resume())

    def save(self) -> Receipt:
        """Write a checkpoint at the next step boundary."""
        return self.post(Save())

    def restore(self, checkpoint: int | str | Checkpoint | None = None) -> Receipt:
        """Go back to a checkpoint: its step, its path, or (None) the latest."""
        wanted = checkpoint.path if isinstance(checkpoint, Checkpoint) else checkpoint
        return self.post(Restore(wanted))

    def post(self, command: Command) -> Receipt:
        """Queue a command for the next step boundary, and return its receipt."""
        receipt = self._commands.post(command, step=self._boundary.step)
        self.receipts.append(receipt)
        if isinstance(command, Stop) and receipt.outcome is None:
            self.coord.request_stop()
        return receipt

    # --- the step boundary ------------------------------------------------------

    def should_stop(self) -> bool:
        """Whether to leave the loop.

        Called by the training thread, once a step, this is the step boundary: it counts
        the step, hands over its record, saves when due, executes commands, and blocks
        while paused. Another thread only gets the answer.
        """
        if threading.get_ident() == self._ident:
            return self._boundary.reach()
        return bool(self.coord.should_stop())

    def record(
        self,
        values: Mapping[str, SupportsFloat] = _NO_VALUES,
        /,
        *,
        step: int | None = None,
        **scalars: SupportsFloat,
    ) -> None:
        """Record scalars of the step at hand; training thread only.

        Args:
            values: Tag to scalar: a number, or a tensor or array of shape (). Tensors are
                kept, and converted later on another thread.
            step: The number of this step, where the program counts its own.
            scalars: More of them, by keyword.

        Raises:
            ArgumentError: Not a mapping of strings to scalars, or another thread.
        """
        if threading.get_ident() != self._ident:
            raise ArgumentError(
                f"record() of the run {self.name!r} was called by another thread than its training "
                "thread: hand `run` to the function that records."
            )
        self._boundary.record(values, scalars, step)

    def drive(self, step: Callable[[], Mapping[str, SupportsFloat]]) -> None:
        """Call `step` and record what it returns, until the run stops; training thread only.

        The same as `while not run.should_stop(): run.record(step())`, at a third of its cost.
        """
        self._boundary.drive(step)

    # --- sessions that its loop opens ---------------------------------------------

    def adopt(self, coord: Coordinator, saver: Saver | None, due: Every) -> None:
        """Take a Supervisor's session under the run, until `release`; training thread only.

        Args:
            coord: Of the session's threads: it and the run stop together.
            saver: Of the session; the run's checkpoints are its from now on.
            due: When they are due.
        """
        self._adopted = coord
        coord.on_stop = self._follow
        if self.coord.should_stop():
            coord.request_stop()
        self._boundary.go_on(saver, due)

    def attach(
        self, coord: tf.train.Coordinator, saver: Saver | None, step: int, *, again: bool
    ) -> Boundary:
        """Take a hook's session under the run, until `release`; training thread only.

        Args:
            coord: Of the session's threads, which stop when the run does.
            saver: Of the session; None saves nothing.
            step: Steps that the session has behind it.
            again: Whether it replaces one that was lost.

        Returns:
            The step boundary, where the hook counts from now on.
        """
        self._adopted = coord
        self._boundary.attach(saver, step, again=again)
        return self._boundary

    def at_end(self, close: Callable[[], object]) -> None:
        """Call `close` when the loop is over and its last checkpoint saved; training thread only.

        It closes what the loop, or an error, has left open.
        """
        self._left_open.callback(close)

    def release(self) -> None:
        """Let go of the session, after a last checkpoint; training thread only."""
        self._boundary.let_go()
        if isinstance(self._adopted, Coordinator):
            self._adopted.on_stop = None
        self._adopted = None

    def add(self, step: int | None, values: Mapping[str, SupportsFloat]) -> None:
        """Record scalars of a step that was done, or (None) of the last one; any thread."""
        if values:
            step = self._boundary.step if step is None else step
            self._recorder.queue.append(step, time.time(), values)

    # --- what it says of itself -------------------------------------------------

    @property
    def status(self) -> Status:
        """How the run stands at this moment."""
        phase = self._lifecycle.phase
        started = phase is not Phase.CREATED
        total = self._settings.steps
        speed = self._speed(phase) if started else None
        left = None if total is None or phase.ended else max(0, total - self._boundary.step)
        until = self._ended_at or time.monotonic()
        return Status(
            name=self.name,
            engine=self._engine.kind,
            phase=phase,
            step=self._boundary.step,
            total_steps=total,
            steps_per_s=speed,
            eta_s=left / speed if speed and left is not None else None,
            elapsed_s=until - self._began if started else 0.0,
            values=self.scalars.last_values(),
            checkpoints=self._boundary.checkpoints,
            threads=self._threads(),
            message=self._watch.message if started else None,
            notice=self._watch.notice if started else None,
            error=frames.formatted(self.error, self._traceback) if self.error else None,
            log=self._log.lines,
        )

    def _threads(self) -> tuple[str, ...]:
        coords = {self.coord, self._adopted or self.coord}
        return tuple(name for coord in coords for name in coord.threads)

    def _speed(self, phase: Phase) -> float | None:
        """Of the last seconds; of the whole life once it has ended."""
        if not phase.ended:
            return self._watch.pace.steps_per_s
        elapsed = self._ended_at - self._began
        return self._boundary.steps_done / elapsed if elapsed > 0 else None

    @property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """What can be restored, the newest last."""
        return self._boundary.checkpoints

    @property
    def total_steps(self) -> int | None:
        """Step at which the run finishes; None where it has no end of its own."""
        return self._settings.steps

    @property
    def keep(self) -> int | None:
        """Checkpoints that stay; None keeps all."""
        return self._settings.keep

    def on_tick(self, listener: Callable[[], object]) -> None:
        """Call `listener` ten times a second while the run lives, and after its end."""
        self._listeners.append(listener)

    def __repr__(self) -> str:
        """Name, phase and step."""
        return (
            f"<nbtrain run {self.name!r}: {self._lifecycle.phase} at step {self._boundary.step:,}>"
        )

    # --- training thread --------------------------------------------------------

    def _main(self) -> None:
        error: BaseException | None = None
        self._ident = threading.get_ident()
        owner.set(self)
        try:
            with (
                self._log.listening(),
                self._engine.session() as saver,
                contextlib.ExitStack() as self._left_open,
            ):
                self._boundary.go_on(saver)
                error = self._train()
                self._boundary.leave(finished=error is None)
        except BaseException as raised:  # noqa: BLE001 - kept, and raised again by wait()
            error = error or raised
        finally:
            self._close(error)

    def _train(self) -> BaseException | None:
        try:
            if self._lifecycle.phase is not Phase.STOPPING:
                self._engine.train(self)
            self.coord.raise_requested_exception()
        except (StopIteration, tf.errors.OutOfRangeError):
            pass  # the input is exhausted
        except BaseException as error:  # noqa: BLE001 - kept, and raised again by wait()
            return error
        return None

    def _close(self, error: BaseException | None) -> None:
        """End this life of the run; whatever fails here, the rest is still done."""
        event = Event.STOPPED if self._asked_to_stop else Event.FINISHED
        with contextlib.ExitStack() as last_first:
            last_first.callback(self._ended.set)
            last_first.callback(self._services.request_stop)
            last_first.callback(lambda: self._lifecycle.apply(Event.FAILED if error else event))
            last_first.callback(self._folder.release)
            last_first.callback(claims.leave, self.name)
            last_first.callback(self._recorder.close)
            last_first.callback(self.coord.request_stop)
            last_first.callback(self._commands.close, "the run has ended", step=self._boundary.step)
            if error is not None:
                self.error, self._traceback = error, frames.of_the_user(error.__traceback__)
            self._ended_at = time.monotonic()
            if self._lifecycle.allows(Event.LOOP_ENDED):  # it failed while preparing
                self._lifecycle.apply(Event.LOOP_ENDED)
            with contextlib.suppress(BusyError):
                self._watch.folder.make_sure(self._boundary.step)
            text = f"{type(error).__name__}: {error}" if error is not None else ""
            ended = "failed" if error else str(event)
            self._watch.log(event=ended, step=self._boundary.step, text=text)

    # --- other threads ----------------------------------------------------------

    def _on_stop(self) -> None:
        """The coordinator was asked to stop, by whomever."""
        with contextlib.suppress(PhaseError):  # it is stopping already, or has ended
            self._lifecycle.apply(Event.STOP)
            self._asked_to_stop = not self.coord.exhausted
            self._watch.stop_asked()
        if self._adopted is not None and not self._adopted.should_stop():
            self._adopted.request_stop()
        self._commands.wake()

    def _follow(self) -> None:
        """The session that its loop opened was asked to stop."""
        if not self.coord.should_stop():
            self.coord.exhausted = self._adopted is not None and self._adopted.exhausted
            self.coord.request_stop()

    def _tick(self) -> None:
        self._commands.attention = True
        self._watch.tick(self._lifecycle.phase, self._boundary.step, self._thread)


_runs: dict[str, Run] = {}


def runs() -> dict[str, Run]:
    """The runs of this kernel by name, the one started last at the end; any thread."""
    return dict(_runs)


def find_run(name: str | None = None) -> Run:
    """The run of this name; without one the run that lives, or else the one started last.

    Raises:
        ArgumentError: There is none, or more than one lives.
    """
    known = runs()
    if not known:
        raise ArgumentError(
            "No run has been started in this kernel: begin a cell with %%nbtrain, or call "
            "nbtrain.train(...)."
        )
    if name is None:
        live = [run for run in known.values() if not run.status.phase.ended]
        if len(live) > 1:
            listed = ", ".join(repr(run.name) for run in live)
            raise ArgumentError(
                f"Which run? {len(live)} are alive: {listed}. Give the name of one."
            )
        return live[0] if live else next(reversed(known.values()))
    if name not in known:
        listed = ", ".join(map(repr, known))
        raise ArgumentError(f"There is no run {name!r} in this kernel; its runs: {listed}.")
    return known[name]


@atexit.register
def _end_all() -> None:
    """At the polite end of the kernel: a last checkpoint of every run, if it comes in time."""
    live = [run for run in runs().values() if not run.status.phase.ended]
    for run in live:
        run.request_stop()
    deadline = time.monotonic() + _EXIT_SECS
    for run in live:
        run._ended.wait(max(0.0, deadline - time.monotonic()))
