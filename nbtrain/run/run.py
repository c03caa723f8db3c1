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
from nbtrain.run import claims, roster
from nbtrain.run.attempt import Attempt
from nbtrain.run.bindings import Bindings
from nbtrain.run.context import Context
from nbtrain.run.engine import Engine
from nbtrain.run.handle import LoopHandle
from nbtrain.run.listeners import Listener, Listeners, check_event
from nbtrain.run.monitor import Monitor
from nbtrain.run.options import Settings
from nbtrain.run.requests import NO_VALUES, Steering
from nbtrain.run.starting import first_step, naming_what_is_new
from nbtrain.run.threads import LooperThread, names_of_live
from nbtrain.run.waiting import Waiting
from nbtrain.rundir.folder import Logdir, unwritable
from nbtrain.rundir.journal import Marks

if TYPE_CHECKING:
    from typing_extensions import Self

# Seconds for the last round of a watch, which may draw a picture.
_LAST_ROUND_SECS = 10.0


class Run(Steering):
    """A training that runs in the background and is steered from anywhere.

    Methods may be called from any thread and return at once, except where they say
    otherwise. `nbtrain.train`, `supervise` and `background` make one.

    Args:
        engine: What trains.
        logdir: Its folder.
        settings: How long, and when to save.
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
        self._begins = 0  # the step from which its life goes on, as far as that is known before
        self._told = Listeners()
        self.attempt = self._attempt(Recorder(self.scalars, None), Bindings(()))

    def _attempt(self, recorder: Recorder, names: Bindings) -> Attempt:
        """What belongs to one life of the run: of the one before nothing is left."""
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
        monitor.listeners, monitor.told = self._listeners, self._told
        self._at_hand = self._commands.at_hand = context.steps
        return attempt

    # --- life -------------------------------------------------------------------

    def start(self) -> Run:
        """Start the training thread, from the latest checkpoint of the folder if there is one.

        A cell that starts one run shows its panel, at its end if it has not done so before.

        Raises:
            PhaseError: It has been started and has not ended, or a thread of its last life
                has not.
            BusyError: Another run holds the folder or the model.
            ArgumentError: The folder cannot be written any more.
        """
        if not self._lifecycle.allows(Event.START):
            self._lifecycle.apply(Event.START)  # raises, naming what is possible
        with naming_what_is_new(), contextlib.ExitStack() as undo:
            self._folder.acquire()
            undo.callback(self._folder.discard)
            engine = self._engine
            names = Bindings(engine.functions, engine.roots(), tracebacks.names_of_caller())
            claims.enter(self.name, lambda: self._engine.models() + names.trained(), self.__repr__)
            undo.callback(claims.leave, self.name)
            if left := names_of_live(self.coord):  # they would take up their work again
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
            undo.pop_all()  # from here on, its life undoes it
        self.attempt.context.monitor.begin(**entry, **parent)
        for receipt in [each for each in list(self.receipts) if each.outcome]:  # of the last life
            self.receipts.remove(receipt)
        roster.enlist(self)
        self.attempt.start(self._engine.session, functools.partial(self._engine.train, self))
        roster.tell(self)
        return self

    def wait(self, timeout: float | None = None) -> Run:
        """Block until the run has ended; an interrupt ends the wait, not the training.

        One that is paused, be it by itself (`on_nan`), is waited for until it goes on and ends;
        the standard error says once that it is paused, and how to go on.

        Args:
            timeout: Seconds to wait at most; None for as long as it takes.

        Returns:
            The run itself, so that a cell shows how it ended.

        Raises:
            WaitError: It goes on after `timeout` seconds, or would wait for itself.
            PhaseError: It has not been started.
            BaseException: What the training raised, with the line that raised it.
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
        """Wait without blocking the kernel's event loop: `await run`."""
        yield from Waiting(self.attempt).awaited(self.on_tick)
        return self.wait()

    def branch(
        self,
        checkpoint: int | str | Checkpoint | None = None,
        name: str | None = None,
        **hyperparameters: SupportsFloat,
    ) -> Self:
        """Start a new run from a checkpoint of this one, in a folder of its own next to this.

        It trains the same model, with the same data and settings, so this run must have ended
        or not have been started.

        Args:
            checkpoint: Its step, its path (also one of another run's folder), or None for the
                latest.
            name: The new run's name; None takes this run's, with a number.
            hyperparameters: Those that have other values from its first step on.

        Raises:
            PhaseError: This run has not ended.
            ArgumentError: A value or name that cannot be, or nothing is left to train; or what
                it trains cannot be branched.
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
        """Call `target` every `secs` seconds until the run stops, as `Supervisor.loop` does.

        An error of `target` stops the run, which then fails with it.
        """
        name = f"nbtrain {self.name}: {getattr(target, '__name__', 'loop')}"
        looper = LooperThread(self.coord, secs, target, name=name, args=args, kwargs=kwargs)
        looper.start()
        return looper

    def post(self, command: Command, *, at: int | None = None) -> Receipt:
        """Queue a command for the next step boundary, and return its receipt.

        Args:
            command: What is asked.
            at: The step after which it is to be executed, where that is yet to come. What
                is planned so may be posted before the first start.

        Raises:
            ArgumentError: A stop is planned, or what is given is no command, or no step.
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
        """Why an edit is refused at once: a name that a run that trains does not have."""
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
        """The loop, as the engine sees it that trains."""
        return self.attempt.handle

    # --- the step boundary ------------------------------------------------------

    def should_stop(self) -> bool:
        """Whether to leave the loop.

        Called by the training thread, once a step, this is the step boundary: it counts
        the step, hands over its record, saves when due, executes commands, and blocks
        while paused. Another thread only gets the answer.
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
        """The same, where the loop begins, or is not the run's own; or from another thread."""
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
        """Record scalars of the step at hand; training thread only.

        Args:
            values: Tag to scalar: a number, or a tensor or array of shape (). Tensors are
                kept, and converted later on another thread.
            step: The number of this step, where the program counts its own.
            scalars: More of them, by keyword.

        Raises:
            ArgumentError: Not a mapping of strings to scalars, or another thread.
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
        """Call `step` and record what it returns, until the run stops; training thread only.

        The same as `while not run.should_stop(): run.record(step())`, and quicker.
        """
        self.attempt.drive(step)

    # --- what it says of itself -------------------------------------------------

    @property
    def _step(self) -> int:
        """Steps completed; before the checkpoint is restored those of that."""
        phase, step = self._lifecycle.phase, self.attempt.step
        known = self.attempt.session.taken_up or phase.ended or phase is Phase.CREATED
        return step if known else step or self._begins

    @property
    def status(self) -> Status:
        """How the run stands at this moment."""
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
            message=monitor.message if started else None,
            notice=monitor.notice if started else None,
            error=tracebacks.formatted(attempt.error, attempt.traceback) if attempt.error else None,
            failure=tracebacks.named(attempt.error) if attempt.error else None,
            log=attempt.log.lines,
            hyperparameters=self._hyperparameters.known,
            evaluates=self._engine.evaluate is not None,
            usage=monitor.resource_usage.usage,
        )

    @property
    def error(self) -> BaseException | None:
        """What ended the run, once it has failed."""
        return self.attempt.error

    @property
    def hyperparameters(self) -> dict[str, float]:
        """Name to value of what `set` can change; empty until the first step boundary."""
        return self._hyperparameters.values

    @property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """What can be restored, the newest last; copies of the last good states as well."""
        return self.attempt.boundary.policy.checkpoints

    @property
    def total_steps(self) -> int | None:
        """Step at which the run finishes; None where it has no end of its own."""
        return self._settings.steps

    @property
    def keep(self) -> int | None:
        """Checkpoints that stay; None keeps all."""
        return self._settings.keep

    def on(self, event: str, function: Listener | None = None) -> Any:
        """Call a function whenever this happens to the run, from now on, in all its starts.

        It is called beside the training and its display, on a thread for such functions: a long
        one holds up the next, and `wait` and `start` for ten seconds at most. What it prints
        appears under the cell that has registered it, and an error of it in the panel.

        Args:
            event: "finished", "stopped" or "failed", once the run has ended; or what
                `steering.jsonl` tells: "checkpoint" (saved by cadence), "save", "restore", "set",
                "try", "pause", "resume", "evaluate" (when asked), "evaluated" (by cadence),
                "undone" (an edit, by the program), "nan" and so on. What was refused has not
                happened.
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
        self._told.add(event, function)
        return function

    def on_tick(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Call `listener` ten times a second while the run lives, and after its end.

        Returns:
            A function that ends this; calling it again does nothing.
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
    """The step at which a command is planned.

    Raises:
        ArgumentError: It is none.
    """
    with contextlib.suppress(TypeError):  # an array has an index too, which it refuses
        if (step := operator.index(at)) >= 0:
            return step
    raise ArgumentError(f"at={at!r}: give the number of a step, from 0, or None.")
