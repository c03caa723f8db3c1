"""A run: one training thread, its coordinator, and the step boundary.

run = Run(engine, logdir, settings)     # created
run.start()                             # preparing: the engine opens its session and
                                        #   restores the latest checkpoint
    while not run.should_stop():        # training thread; each call is a boundary:
        run.record(loss=...)            #   counts the step, queues its record,
                                        #   saves if due, executes commands, pauses
run.save(); run.pause(); ...            # any thread; each returns a receipt
run.wait()                              # finished or stopped; raises the training's error
"""

from __future__ import annotations

import contextlib
import functools
import operator
import threading
from collections import deque
from collections.abc import Callable, Generator, Mapping
from threading import get_ident
from time import time
from typing import TYPE_CHECKING, Any, SupportsFloat, SupportsIndex

from nbtrain.checkpoints.branches import Branch
from nbtrain.checkpoints.files import find
from nbtrain.checkpoints.listing import restorable, saved
from nbtrain.core import tracebacks
from nbtrain.core.at_hand import AtHand
from nbtrain.core.command_queue import CommandQueue
from nbtrain.core.commands import Command, Outcome, Receipt, Set, Stop, Try
from nbtrain.core.errors import ArgumentError, PhaseError, WaitError
from nbtrain.core.hyperparameters import Hyperparameters
from nbtrain.core.states import Checkpoint, Event, Lifecycle, Phase, Status
from nbtrain.recording.recorder import Recorder
from nbtrain.recording.store import ScalarStore
from nbtrain.run import registry
from nbtrain.run.attempt import Attempt
from nbtrain.run.bindings import Bindings
from nbtrain.run.context import Context
from nbtrain.run.engine import Engine, first_step
from nbtrain.run.handle import LoopHandle
from nbtrain.run.listeners import Listener, Listeners, check_event
from nbtrain.run.monitor import Monitor
from nbtrain.run.options import Settings
from nbtrain.run.requests import NO_VALUES, Steering
from nbtrain.run.threads import LooperThread, names_of_live
from nbtrain.run.waiting import Waiting
from nbtrain.rundir.actions import Action, Actions
from nbtrain.rundir.folder import Logdir, unwritable
from nbtrain.rundir.journal import Marks

if TYPE_CHECKING:
    from typing_extensions import Self

# Seconds for the last tick of the monitor threads, which may draw a picture.
_LAST_ROUND_SECS = 10.0


class Run(Steering):
    """A training that runs in the background and is steered from anywhere.

    Methods may be called from any thread and return at once, unless they say otherwise.
    `nbtrain.train`, `supervise` and `background` make a run.

    Args:
        engine: The engine that trains.
        logdir: The run's folder.
        settings: How long to train and when to save.
    """

    def __init__(self, engine: Engine[Any], logdir: Logdir, settings: Settings) -> None:
        self.name = logdir.name
        self.logdir = logdir.path
        self.coord = engine.coord
        self.scalars = ScalarStore()
        self.marks = Marks()
        self.receipts: deque[Receipt] = deque(maxlen=8)
        self._engine = engine
        self._folder = logdir
        self._settings = settings
        self._hyperparameters = Hyperparameters(engine.hyperparameters)
        self._lifecycle = Lifecycle()
        self._commands = CommandQueue()
        self._listeners: list[Callable[[], object]] = []
        self._branch: Branch | None = None
        self._begins = 0  # the step from which the start continues, if known before it trains
        self._functions = Listeners()
        self.attempt = self._attempt(Recorder(self.scalars, None), Bindings(()))

    def _attempt(self, recorder: Recorder, names: Bindings) -> Attempt:
        """Returns a new attempt, which shares nothing with the one before."""
        grace_secs = self._settings.stop_grace_secs
        monitor = Monitor(recorder, self._folder, self.marks, grace_secs=grace_secs)
        context = Context(
            coord=self.coord,
            folder=self._folder,
            settings=self._settings,
            lifecycle=self._lifecycle,
            commands=self._commands,
            recorder=recorder,
            monitor=monitor,
            bindings=names,
            hyperparameters=self._hyperparameters,
            steps=AtHand(recorder.queue.items, recorder.queue.most_items),
            total=lambda: self.total_steps,
        )
        attempt = Attempt(context, self._engine.evaluate, again=bool(self.scalars))
        monitor.listeners, monitor.functions = self._listeners, self._functions
        self._at_hand = self._commands.at_hand = context.steps
        return attempt

    # --- start and end ----------------------------------------------------------

    def start(self) -> Run:
        """Starts the training thread, from the latest checkpoint of the folder if there is one.

        A cell that starts one run shows its panel, at the end of the cell if not before.

        Raises:
            PhaseError: The run was started and has not ended, or a thread of its last start has
                not ended.
            BusyError: Another run holds the folder or the model.
            ArgumentError: The folder cannot be written any more.
        """
        if not self._lifecycle.allows(Event.START):
            self._lifecycle.apply(Event.START)  # raises, and names what is possible
        with registry.naming_new_objects(), contextlib.ExitStack() as undo:
            self._folder.acquire()
            undo.callback(self._folder.discard)
            engine = self._engine
            names = Bindings(engine.functions, engine.roots(), tracebacks.names_of_caller())
            registry.claim(
                self.name, lambda: self._engine.models() + names.trained(), self.__repr__
            )
            undo.callback(registry.release, self.name)
            if left := names_of_live(self.coord):  # they would resume their work
                raise PhaseError(
                    f"Cannot start: threads of an earlier training have not ended: "
                    f"{', '.join(left)}. Wait for them, or start a new run."
                )
            try:
                recorder = Recorder(
                    self.scalars, self.logdir, loss_monitor=self._settings.loss_monitor()
                )
            except OSError as unwritten:
                raise unwritable(self.logdir, unwritten) from None
            branch, entry = self._branch, {"name": self.name, "total_steps": self.total_steps}
            parent = {} if branch is None else {"parent": branch.parent(self.logdir)}
            self.attempt.join(_LAST_ROUND_SECS)
            self._begins = first_step(engine)
            self.attempt = self._attempt(recorder, names)
            self._lifecycle.apply(Event.START)
            undo.pop_all()  # from here on, the attempt releases these
        self.attempt.context.monitor.begin(**entry, **parent)
        for receipt in [each for each in list(self.receipts) if each.outcome]:  # of the last start
            self.receipts.remove(receipt)
        registry.enlist(self)
        self.attempt.start(self._engine.session, functools.partial(self._engine.train, self))
        registry.tell(self)
        return self

    def wait(self, timeout: float | None = None) -> Run:
        """Blocks until the run has ended; an interrupt ends the wait, not the training.

        A pause does not end the wait. A message on the standard error says once that the run is
        paused, and how to resume it.

        Args:
            timeout: Seconds to wait at most; None waits as long as it takes.

        Returns:
            The run itself, so that a cell shows how it ended.

        Raises:
            WaitError: The run has not ended after `timeout` seconds, or a thread of the run would
                wait for itself.
            PhaseError: The run has not been started.
            BaseException: The error of the training, with the line that raised it.
        """
        __tracebackhide__ = True  # IPython shows the lines of the training instead
        if self._lifecycle.phase is Phase.CREATED:
            raise PhaseError("Cannot wait for a run that was not started; call start() first.")
        attempt = self.attempt
        if not Waiting(attempt).until_ended(timeout):
            raise WaitError(
                f"After {timeout:g} s of waiting the run has not ended ({self!r}): wait again, or "
                "call request_stop()."
            )
        attempt.join(_LAST_ROUND_SECS)
        if attempt.error is not None:
            raise attempt.error.with_traceback(attempt.traceback)
        return self

    def __await__(self) -> Generator[Any, None, Run]:
        """Waits without blocking the kernel's event loop: `await run`."""
        yield from Waiting(self.attempt).awaited(self.on_tick)
        return self.wait()

    def branch(
        self,
        checkpoint: int | str | Checkpoint | None = None,
        name: str | None = None,
        **hyperparameters: SupportsFloat,
    ) -> Self:
        """Starts a new run from a checkpoint of this one, in a new folder next to this one's.

        The new run trains the same model, with the same data and settings. So this run must have
        ended, or must not have been started.

        Args:
            checkpoint: Its step, its path (in any run's folder), or None for the latest.
            name: The new run's name; None takes this run's name with a number.
            hyperparameters: Values that differ from the first step of the new run on.

        Returns:
            The new run.

        Raises:
            PhaseError: This run has not ended.
            ArgumentError: A value or the name is invalid, no steps are left to train, or the
                training cannot be branched.
            CheckpointError: There is no such checkpoint.
            BusyError: A run that has not ended trains the model.

        Example:
            >>> slower = run.branch(300, learning_rate=1e-4)
        """
        phase = self._lifecycle.phase
        if phase is not Phase.CREATED and not phase.ended:
            raise PhaseError(
                f"Cannot branch while {phase}: the branch trains the same model. Call "
                "run.request_stop(), then run.wait(); all its checkpoints can be branched."
            )
        if hyperparameters:
            self._hyperparameters.check(hyperparameters)
        wanted = checkpoint.path if isinstance(checkpoint, Checkpoint) else checkpoint
        folder = Logdir(None, name, kind=self.name, beside=self.logdir)
        try:
            engine = self._engine.branched(folder)
            known = (saved if wanted is None else restorable)(self._folder.checkpoints)
            branch = Branch(find(known, wanted))
            child = type(self)(engine, folder, self._settings)
            branch.check_leaves_steps(child.total_steps)
            engine.origin, child._branch = branch.origin.path, branch
            if hyperparameters:
                edit, at = Set(hyperparameters, needed=True), branch.origin.step
                child.receipts.append(child._commands.post(edit, at=at, standing=True))
            child.start()
        except BaseException:
            folder.discard()
            raise
        return child

    def loop(
        self,
        secs: float | None,
        target: Callable[..., object],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:
        """Calls `target` every `secs` seconds until the run stops, as `Supervisor.loop` does.

        An error of `target` stops the run, which then fails with this error.

        Returns:
            The thread that makes the calls.
        """
        name = f"nbtrain {self.name}: {getattr(target, '__name__', 'loop')}"
        looper = LooperThread(self.coord, secs, target, name=name, args=args, kwargs=kwargs)
        looper.start()
        return looper

    def post(self, command: Command, *, at: int | None = None) -> Receipt:
        """Queues a command for the next step boundary, and returns its receipt.

        Args:
            command: The command.
            at: A future step after which to execute it; None executes it at once. Such a planned
                command may be posted before the first start.

        Raises:
            ArgumentError: A stop is planned, `command` is not a command, or `at` is not a step.
        """
        if not isinstance(command, Command):
            raise ArgumentError(f"post({command!r}): give a command, such as Save() or Pause().")
        at = None if at is None else _number_of_step(at)
        if at is not None and isinstance(command, Stop):
            raise ArgumentError(f"A stop cannot be planned: for an end at step {at}, give steps=.")
        step = self.attempt.step
        why = self._unknown(command) if at is None else None
        if why is None:
            receipt = self._commands.post(command, step=step, at=at)
        else:
            receipt = Receipt(command)
            receipt.answer(Outcome(applied=False, step=step, text=why))
            self.attempt.context.monitor.log(event=receipt.name, step=step, applied=False, text=why)
        self.receipts.append(receipt)
        refused = receipt.outcome is not None and not receipt.outcome.applied
        if isinstance(command, Stop) and not refused:
            self.coord.request_stop()
        return receipt

    def _unknown(self, command: Command) -> str | None:
        """Returns why an edit is refused at once: the run trains and lacks a name; else None."""
        if not isinstance(command, Set | Try) or not self._lifecycle.allows(Event.STOP):
            return None
        unknown = {name: 0.0 for name in command.values if name not in self.hyperparameters}
        try:
            if unknown and self.hyperparameters:
                self._hyperparameters.check(unknown)
        except ArgumentError as error:
            return str(error)
        return None

    @property
    def handle(self) -> LoopHandle:
        """The loop as the engine sees it."""
        return self.attempt.handle

    # --- the step boundary ------------------------------------------------------

    def should_stop(self) -> bool:
        """Tells if the loop must end.

        In the training thread, once per step, this is the step boundary: it counts the step,
        queues its record, saves if due, executes commands, and blocks while paused. Another
        thread only gets the answer.
        """
        at_hand = self._at_hand
        if get_ident() != at_hand.thread:
            return self._ask()
        at_hand.step = step = at_hand.step + 1
        values = at_hand.values
        if values is not None:
            items = at_hand.items
            if len(items) < at_hand.most_items:
                at_hand.values = None
                if values:
                    items.extend((at_hand.tags, step, time(), *values))
            else:
                self.attempt.boundary.hand_over()
        return step >= at_hand.next and self.attempt.boundary.look_up()

    def _ask(self) -> bool:
        """Handles the other cases: the first call, another loop, or another thread."""
        attempt = self.attempt
        if threading.get_ident() == attempt.ident:
            return attempt.loop.reach()
        return bool(self.coord.should_stop())

    def record(
        self,
        values: Mapping[str, SupportsFloat] = NO_VALUES,
        /,
        *,
        step: int | None = None,
        **scalars: SupportsFloat,
    ) -> None:
        """Records scalars of the current step; training thread only.

        Args:
            values: Scalars by tag: numbers, or tensors or arrays of shape (). Tensors are kept,
                and converted later by another thread.
            step: The number of this step if the program counts its steps itself.
            scalars: More of them, by keyword.

        Raises:
            ArgumentError: `values` is not a mapping of strings to scalars, or another thread
                calls this.
        """
        at_hand = self._at_hand
        given = scalars or values
        if (
            type(given) is dict
            and (*given,) == at_hand.tags
            and get_ident() == at_hand.thread
            and at_hand.values is None
            and step is None
            and (given is values or values is NO_VALUES)
        ):
            at_hand.values = (*given.values(),)
            return
        attempt = self.attempt
        if threading.get_ident() != attempt.ident:
            raise ArgumentError(
                f"record() of the run {self.name!r} was called by another thread than its training "
                "thread: record in the loop that asks should_stop()."
            )
        attempt.loop.record(values, scalars, step)

    def drive(self, step: Callable[[], Mapping[str, SupportsFloat]]) -> None:
        """Calls `step` and records its result until the run stops; training thread only.

        The same as `while not run.should_stop(): run.record(step())`, but faster.
        """
        self.attempt.drive(step)

    # --- state ------------------------------------------------------------------

    @property
    def _step(self) -> int:
        """Completed steps; until the checkpoint is restored, the steps of the checkpoint."""
        phase, step = self._lifecycle.phase, self.attempt.step
        known = self.attempt.session.taken_up or phase.ended or phase is Phase.CREATED
        return step if known else step or self._begins

    @property
    def status(self) -> Status:
        """The present state of the run."""
        phase, attempt = self._lifecycle.phase, self.attempt
        monitor = attempt.context.monitor
        started = phase is not Phase.CREATED
        total, step = self.total_steps, self._step
        speed = attempt.steps_per_s if started else None
        left = None if total is None or phase.ended else max(0, total - step)
        return Status(
            name=self.name,
            engine=self._engine.kind,
            phase=phase,
            step=step,
            total_steps=total,
            steps_per_s=speed,
            eta_s=left / speed if speed and left is not None else None,
            elapsed_s=attempt.elapsed_s,
            values=self.scalars.last_values(),
            values_at=self.scalars.earlier_steps(),
            checkpoints=self.checkpoints,
            threads=attempt.threads,
            message=monitor.notices.message if started else None,
            notice=monitor.notices.notice if started else None,
            error=tracebacks.formatted(attempt.error, attempt.traceback) if attempt.error else None,
            failure=tracebacks.named(attempt.error) if attempt.error else None,
            log=attempt.handle.log.lines,
            hyperparameters=self._hyperparameters.known,
            evaluates=self._engine.evaluate is not None,
            usage=monitor.resource_usage.usage,
        )

    @property
    def error(self) -> BaseException | None:
        """The error that ended the run; None unless it has failed."""
        return self.attempt.error

    @property
    def hyperparameters(self) -> dict[str, float]:
        """The values that `set` can change, by name; empty until the first step boundary."""
        return self._hyperparameters.values

    @property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """The checkpoints that can be restored, the newest last, and copies of good states."""
        return self.attempt.boundary.policy.checkpoints

    def actions(self) -> tuple[Action, ...]:
        """Returns what can be done about the newest marks: go back, or undo an edit.

        The panel offers the same for every mark on a curve. The best action comes first.

        Example:
            >>> run.actions()
            (run.restore('ckpt-300', halve='learning_rate'), run.restore('ckpt-300'))
            >>> run.do(run.actions()[0]).wait()
        """
        return Actions(self.marks, self.status).latest()

    @property
    def total_steps(self) -> int | None:
        """The step at which the run finishes; None if it does not end by itself."""
        return self._settings.steps

    @property
    def keep(self) -> int | None:
        """The number of checkpoints to keep; None keeps all."""
        return self._settings.keep

    def on(self, event: str, function: Listener | None = None) -> Any:
        """Calls a function whenever an event happens to the run, from now on, in all its starts.

        A separate thread calls these functions. A long call delays the next one, and delays `wait`
        and `start` by ten seconds at most. The function's output appears under the cell that has
        registered it; its errors appear in the panel.

        Args:
            event: "finished", "stopped" or "failed", after the end of the run; or an event of
                `steering.jsonl`: "checkpoint" (saved by cadence), "save", "restore", "set",
                "try", "pause", "resume", "evaluate" (on request), "evaluated" (by cadence),
                "undone" (an edit, by the program), "nan" and so on. Refused commands are no
                events.
            function: Takes a `Mark`: `event`, `step`, `wall_time`, `text` and `edits`.

        Returns:
            The function; without one, the decorator that registers it.

        Raises:
            ArgumentError: There is no such event, or the function cannot be called.

        Example:
            >>> @run.on("failed")
            ... def tell(mark):
            ...     print(f"{run.name} failed at step {mark.step}: {mark.text}")
        """
        check_event(event)
        if function is None:
            return functools.partial(self.on, event)
        self._functions.add(event, function)
        return function

    def on_tick(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Calls `listener` ten times a second until the run ends, and once after its end.

        Returns:
            A function that removes the listener; calling it again does nothing.
        """
        self._listeners.append(listener)

        def forget() -> None:
            with contextlib.suppress(ValueError):
                self._listeners.remove(listener)

        return forget

    def __repr__(self) -> str:
        """Name, phase and step."""
        return f"<nbtrain run {self.name!r}: {self._lifecycle.phase} at step {self._step:,}>"


def _number_of_step(at: SupportsIndex) -> int:
    """Returns the step at which a command is planned, as an int.

    Raises:
        ArgumentError: `at` is not a step.
    """
    with contextlib.suppress(TypeError):  # arrays have `__index__` too, but it raises
        if (step := operator.index(at)) >= 0:
            return step
    raise ArgumentError(f"at={at!r}: give the number of a step, from 0, or None.")
