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
import dataclasses
import os
from collections import deque
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsFloat

from nbtrain.checkpoints.branches import Branch
from nbtrain.checkpoints.listing import find, restorable, saved
from nbtrain.core.at_hand import AtHand
from nbtrain.core.command_queue import CommandQueue
from nbtrain.core.commands import Set
from nbtrain.core.errors import PhaseError, WaitError
from nbtrain.core.states import Checkpoint, Event, Lifecycle, Phase
from nbtrain.core.text import tracebacks
from nbtrain.core.text.log_lines import LogLines
from nbtrain.core.values.hyperparameters import Hyperparameters
from nbtrain.logdir.run_media import RunMedia
from nbtrain.recording.recorder import Recorder
from nbtrain.recording.store import ScalarStore
from nbtrain.run.attempt import Attempt
from nbtrain.run.beside.monitor import Monitor
from nbtrain.run.context import Context
from nbtrain.run.engine import Engine, first_step
from nbtrain.run.outside.mail import Mail
from nbtrain.run.outside.mirror import Mirror, opened_mirror
from nbtrain.run.own_waiting import OwnWaiting
from nbtrain.run.program.bindings import Bindings
from nbtrain.run.reporting import Reporting
from nbtrain.run.steering import Steering
from nbtrain.run.stepping import Stepping
from nbtrain.run.thread.threads import LooperThread, names_of_live
from nbtrain.rundir import launched
from nbtrain.rundir.folder import Logdir, unwritable
from nbtrain.rundir.fresh import move_aside
from nbtrain.rundir.journal import Marks
from nbtrain.steer import registry
from nbtrain.steer.options import Settings

if TYPE_CHECKING:
    from typing_extensions import Self

# Seconds for the last tick of the monitor threads, which may draw a picture.
LAST_ROUND_SECS = 10.0


class Run(Steering, Stepping, Reporting):
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
        self.marks, self.log = Marks(), LogLines()
        self.receipts = deque(maxlen=8)
        self._engine = engine
        self._branch: Branch | None = None
        self._before: tuple[int, tuple[Checkpoint, ...]] = 0, ()
        recorder = Recorder(self.scalars, None)
        context = Context(
            coord=self.coord,
            folder=logdir,
            settings=settings,
            lifecycle=Lifecycle(),
            commands=CommandQueue(),
            recorder=recorder,
            monitor=Monitor(recorder, logdir, self.marks, grace_secs=settings.stop_grace_secs),
            bindings=Bindings(()),
            hyperparameters=Hyperparameters(engine.hyperparameters),
            media=RunMedia(logdir.path),
            steps=AtHand(recorder.queue.items, recorder.queue.most_items),
            total=lambda: self.total_steps,
        )
        self._begin_attempt(context, recorder, context.bindings)

    def _begin_attempt(self, last: Context, recorder: Recorder, bindings: Bindings) -> None:
        """Makes an attempt with parts of its own, and the others of the last attempt."""
        grace_secs = last.settings.stop_grace_secs
        monitor = Monitor(recorder, last.folder, self.marks, grace_secs=grace_secs)
        monitor.take_over(last.monitor)
        steps = AtHand(recorder.queue.items, recorder.queue.most_items)
        context = dataclasses.replace(
            last, recorder=recorder, monitor=monitor, bindings=bindings, steps=steps
        )
        self.attempt = Attempt(context, self._engine.evaluate, self.log)
        self._at_hand = context.commands.at_hand = steps

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
        lifecycle = self.attempt.context.lifecycle
        if not lifecycle.allows(Event.START):
            lifecycle.apply(Event.START)  # raises, and names what is possible
        with registry.naming_new_objects(), contextlib.ExitStack() as undo:
            engine, context = self._engine, self.attempt.context
            context.folder.acquire()
            undo.callback(context.folder.discard)
            is_new = self._branch is not None and not self.marks
            opened = opened_mirror(context.settings.mirror, context.folder, is_branch=is_new)
            names = Bindings(engine.functions, engine.roots(), tracebacks.names_of_caller())
            registry.claim(self.name, lambda: engine.models() + names.trained(), self.__repr__)
            undo.callback(registry.release, self.name)
            if left := names_of_live(self.coord):  # they would resume their work
                raise PhaseError(
                    f"Cannot start: threads of an earlier training have not ended: "
                    f"{', '.join(left)}. Wait for them, or start a new run."
                )
            recorder, aside = self._recorder(context)
            branch, entry = self._branch, {"name": self.name, "total_steps": self.total_steps}
            parent = {} if branch is None else {"parent": branch.parent(self.logdir)}
            self.attempt.monitor_threads.join(LAST_ROUND_SECS)
            self._before = first_step(engine), self.checkpoints
            self._begin_attempt(context, recorder, names)
            context.lifecycle.apply(Event.START)
            undo.pop_all()  # from here on, the attempt releases these
        holds_back = not launched.is_waiting(self.logdir)
        monitor = self.attempt.context.monitor
        monitor.begin(context.settings.tags, holds_back=holds_back, **entry, **parent)
        for receipt in [each for each in list(self.receipts) if each.outcome]:  # of the last start
            with contextlib.suppress(ValueError):  # clicks have pushed it out
                self.receipts.remove(receipt)
        registry.enlist(self)
        if aside is not None:
            monitor.notices.inform(f"The earlier run was moved to {os.path.relpath(aside)}.")
        note, is_gone = monitor.notices.note, monitor.folder.is_gone
        mail = Mail(self, context.folder, note, is_gone, leaves_as_was=lambda: monitor.holds_back)
        mirror = None if opened is None else Mirror(opened, self.logdir, note, is_gone)
        self.attempt.start(self._engine.session, lambda: self._engine.train(self), mail, mirror)
        registry.tell(self)
        return self

    def _models(self) -> list[object]:
        return self._engine.models() + self.attempt.context.bindings.trained()

    def _recorder(self, context: Context) -> tuple[Recorder, Path | None]:
        """Opens the recorder of a start; returns where an earlier run was moved, if it was."""
        is_fresh = context.settings.fresh and context.lifecycle.phase is Phase.CREATED
        loss, best = context.settings.loss_monitor(), context.settings.best_monitor()
        try:
            aside = move_aside(self.logdir) if is_fresh else None
            return Recorder(self.scalars, self.logdir, loss_monitor=loss, best_monitor=best), aside
        except OSError as error:
            raise unwritable(self.logdir, error) from None

    def wait(self, timeout: float | None = None) -> Run:
        """Blocks until the run has ended; an interrupt ends the wait, not the training.

        In a script, Ctrl-C asks the run to stop, and the wait goes on to its last checkpoint. A
        second one ends the wait.

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
        if self.attempt.context.lifecycle.phase is Phase.CREATED:
            raise PhaseError("Cannot wait for a run that was not started; call start() first.")
        attempt = self.attempt
        waiting = OwnWaiting(attempt)
        try:
            ended = waiting.until_ended(timeout)
        except KeyboardInterrupt:
            if not registry.interrupted(self):
                raise
            ended = waiting.until_ended(timeout)
        if not ended:
            raise WaitError(
                f"After {timeout:g} s of waiting the run has not ended ({self!r}): wait again, or "
                "call request_stop()."
            )
        attempt.monitor_threads.join(LAST_ROUND_SECS)
        if attempt.error is not None:
            raise attempt.error.with_traceback(attempt.traceback)
        return self

    def __await__(self) -> Generator[Any, None, Run]:
        """Waits without blocking the kernel's event loop: `await run`."""
        yield from OwnWaiting(self.attempt).awaited(self.on_tick)
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
        context = self.attempt.context
        phase = context.lifecycle.phase
        if phase is not Phase.CREATED and not phase.ended:
            raise PhaseError(
                f"Cannot branch while {phase}: the branch trains the same model. Call "
                "run.request_stop(), then run.wait(); all its checkpoints can be branched."
            )
        if hyperparameters:
            context.hyperparameters.check(hyperparameters)
        wanted = checkpoint.path if isinstance(checkpoint, Checkpoint) else checkpoint
        folder = Logdir(None, name, kind=self.name, beside=self.logdir)
        try:
            engine = self._engine.branched(folder)
            known = (saved if wanted is None else restorable)(context.folder.checkpoints)
            branch = Branch(find(known, wanted))
            child = type(self)(engine, folder, context.settings)
            branch.check_leaves_steps(child.total_steps)
            engine.origin, child._branch = branch.origin.path, branch
            if hyperparameters:
                edit, at = Set(hyperparameters, needed=True), branch.origin.step
                child.receipts.append(
                    child.attempt.context.commands.post(edit, at=at, standing=True)
                )
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
