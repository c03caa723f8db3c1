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
import os
from collections import deque
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from threading import get_ident
from time import monotonic, time
from typing import TYPE_CHECKING, Any, SupportsFloat

from nbtrain.checkpoints.files import step_in_name
from nbtrain.checkpoints.listing import find, restorable, saved
from nbtrain.core.command_queue import CommandQueue
from nbtrain.core.commands import (
    NO_SENDER,
    Command,
    Note,
    Restore,
    Save,
    Sender,
    Set,
    Stop,
    Tag,
    Try,
)
from nbtrain.core.current_step import CurrentStep
from nbtrain.core.errors import ArgumentError, PhaseError, WaitError
from nbtrain.core.receipts import Outcome, Receipt
from nbtrain.core.states import Checkpoint, Event, Lifecycle, Phase, Status
from nbtrain.core.text import tracebacks
from nbtrain.core.text.log_lines import LogLines
from nbtrain.core.values.hyperparameters import Hyperparameters
from nbtrain.logdir.run_media import RunMedia
from nbtrain.recording.recorder import Recorder
from nbtrain.recording.store import ScalarStore
from nbtrain.run.after_end import execute
from nbtrain.run.attempt import INPUT_ENDS, Attempt
from nbtrain.run.beside.monitor import Monitor
from nbtrain.run.boundary.session_host import owner
from nbtrain.run.context import Context
from nbtrain.run.engine import Engine, first_step
from nbtrain.run.handle import LoopHandle
from nbtrain.run.outside.mail import Mail
from nbtrain.run.outside.mirror import Mirror, opened_mirror
from nbtrain.run.own_waiting import OwnWaiting
from nbtrain.run.program.bindings import Bindings
from nbtrain.run.thread.threads import LooperThread, names_of_live
from nbtrain.run.why.experiment import LoopSource
from nbtrain.rundir import launched
from nbtrain.rundir.folder import Logdir, move_aside, shown, unwritable
from nbtrain.rundir.journal import Marks
from nbtrain.rundir.mailbox import Address
from nbtrain.rundir.timeline import run_of
from nbtrain.steer import registry, surroundings
from nbtrain.steer.annotations import annotate
from nbtrain.steer.listeners import Listener, Listeners, added, check_event
from nbtrain.steer.options import Settings
from nbtrain.steer.requests import NO_VALUES, Requests, planned

if TYPE_CHECKING:
    from typing_extensions import Self

# Seconds for the last tick of the monitor threads, which may draw a picture.
LAST_ROUND_SECS = 10.0


class NotStartedError(PhaseError, AttributeError):
    """The run was not started, so the attribute does not exist yet; `hasattr` returns False."""


# Why the program's own commands are refused while its steps are taken again.
_AGAIN = "the step is taken again for a question: what it asks for was done the first time"


class Run(Requests):
    """A training that runs in the background and is steered from anywhere.

    Methods may be called from any thread and return at once, unless they say otherwise.
    `nbtrain.train`, `supervise` and `background` make a run.

    Args:
        engine: The engine that trains.
        logdir: The run's folder.
        settings: How long to train and when to save.

    Attributes:
        in_foreground: Whether the thread that starts it trains.
        input_ends: The errors that say that the input is exhausted; they end the loop without a
            failure.
        media: Its pictures and media, found in the event files of its folder.
    """

    in_foreground = False
    _how_to_start = "call start() first"
    input_ends: tuple[type[BaseException], ...] = INPUT_ENDS

    def __init__(self, engine: Engine[Any], logdir: Logdir, settings: Settings) -> None:
        self.name = logdir.name
        self.logdir = logdir.path
        self.coord = engine.coord
        self.scalars = ScalarStore()
        self.marks, self.log = Marks(), LogLines()
        self.media = RunMedia(logdir.path)
        self.receipts: deque[Receipt] = deque(maxlen=8)
        self._engine, self._folder, self._settings = engine, logdir, settings
        self._lifecycle, self._commands = Lifecycle(), CommandQueue()
        self._hyperparameters = Hyperparameters(engine.hyperparameters)
        self._listeners: list[Callable[[], object]] = []
        self._functions = Listeners()
        self._attempt: Attempt | None = None
        self._steps = CurrentStep(deque(), 0)  # of the attempt, once there is one
        self._first_step = 0  # from which the start continues, if that is known in advance
        self._last_checkpoints: tuple[Checkpoint, ...] = ()  # at the end of the last start

    @property
    def attempt(self) -> Attempt:
        """The present or the last start.

        Raises:
            NotStartedError: The run was not started.
        """
        if self._attempt is None:
            raise NotStartedError(f"The run {self.name!r} was not started; {self._how_to_start}.")
        return self._attempt

    # --- start and end ----------------------------------------------------------

    def start(self) -> Run:
        """Starts the training thread, from the latest checkpoint of the folder if there is one.

        A cell that starts one run shows its panel, at the end of the cell if not before.

        Raises:
            PhaseError: The run was started and has not ended, or a thread of its last start has
                not ended.
            BusyError: Another run uses the folder or the model.
            ArgumentError: The folder is no longer writable.
        """
        if not self._lifecycle.allows(Event.START):
            self._lifecycle.apply(Event.START)  # raises, and names what is possible
        with registry.naming_new_objects(), contextlib.ExitStack() as undo:
            engine, folder, settings = self._engine, self._folder, self._settings
            folder.acquire()
            undo.callback(folder.discard)
            is_new = engine.origin is not None and not self.marks
            opened = opened_mirror(settings.mirror, folder, is_branch=is_new)
            names = Bindings(engine.functions, engine.roots(), tracebacks.names_of_caller())
            registry.claim(self.name, lambda: engine.models() + names.trained(), self.__repr__)
            undo.callback(registry.release, self.name)
            if left := names_of_live(self.coord):  # they would resume their work
                raise PhaseError(
                    f"Cannot start: threads of an earlier training have not ended: "
                    f"{', '.join(left)}. Wait for them, or start a new run."
                )
            recorder, aside = self._recorder()
            if self._attempt is not None:
                self._attempt.monitor_threads.join(LAST_ROUND_SECS)
            self._first_step, self._last_checkpoints = first_step(engine), self.checkpoints
            self._attempt = attempt = self._attempt_with(recorder, names)
            self._steps = self._commands.steps = attempt.context.steps
            self._lifecycle.apply(Event.START)
            undo.pop_all()  # from now on, the attempt releases them
        with attempt.starting():
            holds_back = not launched.is_waiting(self.logdir)
            monitor = attempt.context.monitor
            entry = {"name": self.name, "total_steps": self.total_steps, **self._parent()}
            if settings.config:
                entry["config"] = settings.config
            monitor.begin(settings.tags, holds_back=holds_back, **entry)
            for receipt in [each for each in list(self.receipts) if each.outcome]:  # of the last
                with contextlib.suppress(ValueError):  # newer receipts have replaced it
                    self.receipts.remove(receipt)
            registry.enlist(self)
            if aside is not None:
                monitor.notices.inform(f"The earlier run was moved to {shown(aside)}.")
            note, is_gone = monitor.notices.note, monitor.folder.is_missing
            mail = Mail(self, folder, note, is_gone, leaves_as_was=lambda: monitor.holds_back)
            mirror = None if opened is None else Mirror(opened, self.logdir, note, is_gone)
            attempt.start(engine.session, lambda: engine.train(self), mail, mirror)
        surroundings.current.show_start(self)
        return self

    def _parent(self) -> dict[str, object]:
        """Returns the field of a branch's journal that names the checkpoint it begins from."""
        if self._engine.origin is None:
            return {}
        path = Path(self._engine.origin)
        logdir, step = os.path.relpath(run_of(path), self.logdir), step_in_name(path.name)
        return {"parent": {"logdir": logdir, "checkpoint": path.name, "step": step}}

    def _models(self) -> list[object]:
        return self._engine.models() + self.attempt.context.bindings.trained()

    def _attempt_with(self, recorder: Recorder, bindings: Bindings) -> Attempt:
        """Makes an attempt, which also writes the entries that the last one has not written."""
        monitor = Monitor(
            recorder,
            self._folder,
            self.marks,
            grace_secs=self._settings.stop_grace_secs,
            listeners=self._listeners,
            functions=self._functions,
        )
        if self._attempt is not None:
            monitor.inherit(self._attempt.context.monitor)
        context = Context(
            coord=self.coord,
            folder=self._folder,
            settings=self._settings,
            lifecycle=self._lifecycle,
            commands=self._commands,
            recorder=recorder,
            monitor=monitor,
            bindings=bindings,
            hyperparameters=self._hyperparameters,
            media=self.media,
            steps=CurrentStep(recorder.queue.items, recorder.queue.most_items),
            total=lambda: self.total_steps,
        )
        return Attempt(
            context,
            self._engine.evaluate,
            self.log,
            in_foreground=self.in_foreground,
            input_ends=self.input_ends,
            abandon=self._abandon,
        )

    def _abandon(self, error: BaseException | None = None) -> None:
        """Ends a loop in the foreground that nobody continues, by a stop or an error."""

    def _recorder(self) -> tuple[Recorder, Path | None]:
        """Opens the recorder of a start; also returns the path of a run that was moved aside."""
        is_fresh = self._settings.fresh and self._attempt is None
        loss, best = self._settings.loss_monitor(), self._settings.best_monitor()
        try:
            aside = move_aside(self.logdir) if is_fresh else None
            return Recorder(self.scalars, self.logdir, loss_monitor=loss, best_monitor=best), aside
        except OSError as error:
            raise unwritable(self.logdir, error) from None

    def wait(self, timeout: float | None = None) -> Run:
        """Blocks until the run has ended; an interrupt ends the wait, not the training.

        In a script, Ctrl-C asks the run to stop, and the wait continues until its last checkpoint.
        A second one ends the wait.

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
        attempt = self.attempt
        waiting = OwnWaiting(attempt)
        try:
            ended = waiting.until_ended(timeout)
        except KeyboardInterrupt:
            if not surroundings.current.interrupted(self):
                raise
            ended = waiting.until_ended(timeout)
        if not ended:
            raise WaitError(
                f"After {timeout:g} s of waiting the run has not ended ({self!r}): wait again, or "
                "call request_stop()."
            )
        attempt.monitor_threads.join(LAST_ROUND_SECS)
        surroundings.current.note_awaited(self)
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
            name: The new run's name; None uses this run's name with a number.
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
            origin = find(known, wanted)
            child = type(self)(engine, folder, self._settings)
            total = child.total_steps
            if total is not None and origin.step >= total:
                raise ArgumentError(
                    f"The checkpoint is of step {origin.step:,} of {total:,}: to a branch of it "
                    "nothing is left to train. Give an earlier one, by its step."
                )
            engine.origin = origin.path
            if hyperparameters:
                edit = Set(hyperparameters, needed=True)
                child.receipts.append(child._commands.post(edit, at=origin.step, standing=True))
            child.start()
        except BaseException:
            folder.discard()
            raise
        return child

    # --- commands ---------------------------------------------------------------

    def post(
        self, command: Command, *, at: int | None = None, sender: Sender = NO_SENDER
    ) -> Receipt:
        """Queues a command; see `Requests.post`."""
        at = planned(command, at)
        if self._steps.present is not None and self.trains_here() and not isinstance(command, Stop):
            again = Receipt(command, thread=get_ident(), sender=sender)
            again.answer(Outcome(applied=False, step=self._steps.step, text=_AGAIN))
            return again
        if at is None and (receipt := self._after_end(command, sender)) is not None:
            self.receipts.append(receipt)
            return receipt
        step, why = self._steps.shown, self._unknown(command) if at is None else None
        receipt = self._commands.post(command, step=step, at=at, sender=sender, refusal=why)
        if receipt.sender is not sender:
            return receipt  # the receipt of the same command, which came first
        if why is not None:
            self.attempt.context.monitor.log(
                event=receipt.name, step=step, applied=False, text=why, **sender.entry
            )
        self.receipts.append(receipt)
        refused = receipt.outcome is not None and not receipt.outcome.applied
        if isinstance(command, Stop) and not refused:
            self.coord.request_stop()
        return receipt

    def _after_end(self, command: Command, sender: Sender) -> Receipt | None:
        """Executes a command after the end, in this thread; None if only a live run can do it."""
        if not self._lifecycle.phase.ended:
            return None
        if isinstance(command, Note | Tag):
            return annotate(self, command, sender)
        if isinstance(command, Save | Restore) and self.attempt.boundary.policy.is_closed:
            return execute(self.attempt, self._models, command, sender)
        return None

    def refuse(self, command: Command, why: str) -> Receipt:
        """Refuses a command at once, and logs the refusal while the run trains."""
        step, receipt = self._steps.step, Receipt(command)
        receipt.answer(Outcome(applied=False, step=step, text=why))
        if self._lifecycle.allows(Event.STOP):
            self.attempt.context.monitor.log(event=receipt.name, step=step, applied=False, text=why)
        self.receipts.append(receipt)
        return receipt

    def _unknown(self, command: Command) -> str | None:
        """Returns why an edit is refused at once: the run trains and lacks a name; else None."""
        if not isinstance(command, Set | Try) or not self._lifecycle.allows(Event.STOP):
            return None
        known = self._hyperparameters.values
        unknown = {name: 0.0 for name in command.names if name not in known}
        try:
            if unknown and known:
                self._hyperparameters.check(unknown)
        except ArgumentError as error:
            return str(error)
        return None

    # --- the training thread, once per step -------------------------------------

    @property
    def handle(self) -> LoopHandle:
        """The loop as the engine sees it."""
        return self.attempt.handle

    def should_stop(self) -> bool:
        """Returns whether the loop must end.

        In the training thread, once per step, this is the step boundary: it counts the step,
        queues its record, saves if due, executes commands, and blocks while paused. Another
        thread only gets the answer.
        """
        steps = self._steps
        if get_ident() != steps.thread or steps.tracked:
            return self._ask()
        steps.step = step = steps.step + 1
        values = steps.values
        if values is not None:
            items = steps.items
            if len(items) < steps.most_items:
                steps.values = None
                if values:
                    items.extend((steps.tags, step, time(), *values))
            else:
                self.attempt.boundary.queue_record()
        return step >= steps.next and self.attempt.boundary.act()

    def _ask(self) -> bool:
        """Handles the other cases: the first call, another loop, or another thread."""
        if self.trains_here():
            return self.attempt.loop.should_stop()
        return bool(self.coord.should_stop())

    def trains_here(self) -> bool:
        """Returns whether the calling thread is the training thread."""
        return self._attempt is not None and self._attempt.ident == get_ident()

    def record(
        self,
        values: Mapping[str, Any] = NO_VALUES,
        /,
        *,
        step: int | None = None,
        **scalars: Any,
    ) -> None:
        """Records scalars, pictures and media of the current step; training thread only.

        Another thread converts and encodes the values. Tensors are kept as they are. The numbers of
        arrays and variables are copied at once, which takes 1 to 2 ms for each MB. A figure is
        drawn later, with its content at that time: make a new one for each step.

        Args:
            values: Values by tag. A scalar is a number, or a tensor or array of shape (). Images
                have the shape (height, width, channels), (batch, height, width, channels) or
                (batch, height, width), as uint8 or as floats from 0 to 1; the first 12 of a batch
                are kept. There may also be Matplotlib figures, texts, and the values of
                `nbtrain.media`: histograms, sounds, confusion matrices and PR curves.
            step: The number of this step if the program counts its steps itself.
            scalars: More values, by keyword.

        Raises:
            ArgumentError: `values` is not a mapping of strings to such values, or another thread
                calls this.

        Example:
            >>> run.record(loss=loss, samples=images, note="after a *restart*")
        """
        steps = self._steps
        given = scalars or values
        if (
            type(given) is dict
            and (*given,) == steps.tags
            and get_ident() == steps.thread
            and steps.values is None
            and step is None
            and (given is values or values is NO_VALUES)
        ):
            steps.values = (*given.values(),)
            return
        if not self.trains_here():
            raise ArgumentError(f"record() of the run {self.name!r} was called {self._called()}")
        self.attempt.loop.record(values, scalars, step)

    def _called(self) -> str:
        """Describes from where `record` was called, and where it can be called."""
        other = owner.get()
        if other is not None and (self._attempt is None or other is not self.handle.host):
            return (
                f"in the loop of the run {other.name!r}: give that run a name, as in `run = "
                "nbtrain.track(...)` and `for batch in run:`, and record with it."
            )
        if self.in_foreground:
            return "outside of its loop: record in the body of `for batch in run:`."
        return (
            "by another thread than its training thread: record in the loop that asks "
            "should_stop()."
        )

    def drive(
        self, step: Callable[[], Mapping[str, SupportsFloat]], source: LoopSource | None = None
    ) -> None:
        """Calls `step` and records its result until the run stops; training thread only.

        Does the same as `while not run.should_stop(): run.record(step())`, but faster.

        Args:
            source: The elements that the step draws; None if unknown.
        """
        self.attempt.loop.drive(step, source)

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

    # --- state ------------------------------------------------------------------

    @property
    def _step(self) -> int:
        """Completed steps; until the checkpoint is restored, the steps of the checkpoint.

        A program whose steps are taken again sees their numbers, and everybody else the present.
        """
        steps, attempt = self._steps, self._attempt
        step = steps.step if self.trains_here() else steps.shown
        known = attempt is None or attempt.loop.resumed or self._lifecycle.phase.ended
        return step if known else step or self._first_step

    @property
    def status(self) -> Status:
        """The present state of the run."""
        phase, attempt = self._lifecycle.phase, self._attempt
        total, step = self.total_steps, self._step
        epoch = self._engine.epoch
        if epoch and phase.ended:
            epoch = epoch.ended_at(step)
        left = None if total is None or phase.ended else max(0, total - step)
        return Status(
            name=self.name,
            engine=self._engine.kind,
            phase=phase,
            step=step,
            total_steps=total,
            epoch=epoch.number if epoch else None,
            epochs=epoch.count if epoch else None,
            epoch_began=epoch.began if epoch else None,
            epoch_steps=epoch.steps if epoch else None,
            values=self.scalars.last_values(),
            values_at=self.scalars.earlier_steps(),
            checkpoints=self.checkpoints,
            hyperparameters=self._hyperparameters.known,
            evaluates=self._engine.evaluate is not None,
            tags=self.marks.tags,
            config=self.marks.config,
            directions=self._settings.directions.told,
            **({} if attempt is None else self._of_attempt(attempt, left)),
        )

    @staticmethod
    def _of_attempt(attempt: Attempt, left: int | None) -> dict[str, Any]:
        """Returns a status's fields about a start; `left` are the remaining steps, if known."""
        monitor, error = attempt.context.monitor, attempt.error
        return {
            "steps_per_s": attempt.steps_per_s,
            "eta_s": None if left is None else monitor.throughput.secs_for(left),
            "elapsed_s": monitor.throughput.elapsed(monotonic()),
            "threads": attempt.threads,
            "message": monitor.notices.message,
            "notice": monitor.notices.notice,
            "error": None if error is None else tracebacks.formatted(error, attempt.traceback),
            "failure": None if error is None else tracebacks.named(error),
            "log": attempt.handle.log.lines,
            "mirror": attempt.monitor_threads.mirrored,
            "usage": monitor.resource_usage.usage,
            "tasks": monitor.tasks.tasks,
        }

    @property
    def mailbox(self) -> Address | None:
        """The mailbox of the latest start; None before the first."""
        return None if self._attempt is None else self._attempt.monitor_threads.address

    @property
    def trained_by(self) -> str | None:
        """The process that trains; None, because it is this process."""
        return None

    @property
    def error(self) -> BaseException | None:
        """The error that ended the run; None unless it has failed."""
        return None if self._attempt is None else self._attempt.error

    @property
    def hyperparameters(self) -> dict[str, float]:
        """The values that `set` can change, by name; empty until the first step boundary."""
        return self._hyperparameters.values

    @property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """The checkpoints that can be restored, the newest last, and copies of good states."""
        if self._attempt is not None:
            catalog = self._attempt.boundary.policy.catalog
            if catalog.in_use:
                return catalog.checkpoints
        return self._last_checkpoints

    @property
    def total_steps(self) -> int | None:
        """The step at which the run finishes, by `steps` or its data; None if unknown."""
        ends = (self._settings.steps, self._engine.total_steps)
        return min((end for end in ends if end is not None), default=None)

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
            function: Called with a `Mark`: `event`, `step`, `wall_time`, `text` and `edits`.

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

    @property
    def is_over(self) -> bool:
        """True if the run has ended and everything is read: from the last call of `on_tick` on."""
        return self._attempt is not None and self._attempt.monitor_threads.is_over

    def on_tick(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Calls `listener` ten times a second until the run ends, and once after its end.

        Returns:
            A function that removes the listener; calling it again does nothing.
        """
        return added(self._listeners, listener)

    def __repr__(self) -> str:
        """Name, phase and step."""
        return f"<nbtrain run {self.name!r}: {self._lifecycle.phase} at step {self._step:,}>"
