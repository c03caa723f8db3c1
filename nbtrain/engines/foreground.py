"""Trains by a `for` loop of the program, in the thread that loops.

run = track(dataset, name="mine")   # created
for batch in run:                   # starts: this thread trains, and the panel is shown
    run.record(loss=step(batch))    # the end of each turn is a step boundary
                                    # finished, stopped or failed; the program goes on
"""

from __future__ import annotations

import ast
import contextvars
import inspect
import linecache
import os
import threading
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NoReturn

import tensorflow as tf

from nbtrain.core import for_loops
from nbtrain.core.errors import ArgumentError, PhaseError
from nbtrain.core.leaving import left_by
from nbtrain.core.tracebacks import caller
from nbtrain.engines.data.tracked import check_tracked
from nbtrain.engines.hyperparameters import held_by
from nbtrain.engines.loops import LoopEngine, LoopRun
from nbtrain.engines.object_saver import as_checkpoint
from nbtrain.engines.signatures import check_evaluation
from nbtrain.engines.trained import Trained
from nbtrain.recording.recorder import Recorder
from nbtrain.run import registry
from nbtrain.run.bindings import Bindings
from nbtrain.run.context import Context
from nbtrain.run.evaluator import Evaluation
from nbtrain.run.interrupts import Interrupts
from nbtrain.run.options import Settings
from nbtrain.run.own_waiting import words_of_pause
from nbtrain.run.run import LAST_ROUND_SECS, Run
from nbtrain.run.session_host import owner
from nbtrain.run.waiting import Pauses
from nbtrain.rundir.folder import Logdir


class TrackedRun(LoopRun, Iterable[Any]):
    """A run that trains while the program loops over it.

    Looping over it again starts it again: it continues from its latest checkpoint.

    Args:
        engine: The engine.
        logdir: The run's folder.
        settings: How long to train and when to save.
        iterable: The elements.
    """

    def __init__(
        self, engine: LoopEngine, logdir: Logdir, settings: Settings, iterable: Iterable[Any]
    ) -> None:
        super().__init__(engine, logdir, settings)
        self._iterable = iterable
        self._made = caller()
        self._loops: weakref.WeakSet[Generator[Any, None, None]] = weakref.WeakSet()
        self._interrupts = Interrupts(self.name, self.request_stop)
        self._forget_pauses: Callable[[], None] = lambda: None
        self._left_with: BaseException | None = None

    def _begin_attempt(self, last: Context, recorder: Recorder, bindings: Bindings) -> None:
        super()._begin_attempt(last, recorder, bindings)
        self.attempt.in_foreground, self.attempt.abandon = True, self._abandon

    def start(self) -> NoReturn:
        """Refuses to start: the run trains where it is looped over."""
        raise PhaseError(
            f"The run {self.name!r} trains where it is looped over: write `for batch in run:`."
        )

    def branch(self, *_args: object, **_hyperparameters: object) -> NoReturn:
        """Refuses to branch: a branch would train in the background."""
        raise PhaseError(
            f"The run {self.name!r} of nbtrain.track cannot be branched: a branch trains in the "
            "background. Write its loop in a cell under %%nbtrain, or as a function under "
            "@nbtrain.background."
        )

    def __iter__(self) -> Iterator[Any]:
        """Returns an iterator that trains: the thread that draws from it is the training thread.

        Its first element starts the run.

        Raises:
            PhaseError: The run trains already, or the thread trains another run.
            BusyError: Another run holds the folder or the model.
            CheckpointError: The latest checkpoint cannot be restored.
            BaseException: The error of a thread of the run.
        """
        turns = self._turns()
        self._loops.add(turns)
        return turns

    def _turns(self) -> Generator[Any, None, None]:
        if (other := at_hand()) is not None:
            raise PhaseError(
                f"The run {self.name!r} cannot start, as this thread trains {other!r}: finish that "
                "loop first, or write nbtrain.track(...) in it for a loop of the same run."
            )
        self._check_around()
        super().start()
        try:
            self._interrupts.take()
            pauses = Pauses(partial(words_of_pause, self.attempt.context, "so is its loop"))
            here = contextvars.copy_context()  # the message appears under the cell
            self._forget_pauses = self.on_tick(lambda: here.run(pauses.look))
            self.attempt.enter(self._engine.session)
            yield from self._engine.tracks.over(self._iterable, self.handle)
        except GeneratorExit:
            left_by(self._end)
            raise
        except BaseException as error:
            self._end(error)
            raise
        self._end(None)
        if (late := self.attempt.error) is not None:
            raise late.with_traceback(self.attempt.traceback)

    def _check_around(self) -> None:
        """Checks that no loop of the program, untracked, would start the run in each turn.

        Raises:
            ArgumentError: There is one. Runs with names of their own may be made in its turns.
        """
        code, line = caller()
        source = "".join(linecache.getlines(code.co_filename))
        try:
            loop = for_loops.around(ast.parse(source), line)
        except (SyntaxError, ValueError):  # there is no source
            return
        if loop is None:
            return
        made_code, made_line = self._made
        is_within = made_code.co_filename == code.co_filename and made_line > loop.lineno
        if is_within and not self.attempt.context.folder.numbered:
            return
        given, tracked = for_loops.tracked_line(loop, source, "nbtrain.track")
        write = f"write `{tracked}`" if tracked else "write nbtrain.track(...) in this line"
        raise ArgumentError(
            f"Each turn of the loop around it would start a run of its own. Line {loop.lineno}, "
            f"`{given}`: {write}, and `for ... in nbtrain.track(...)` within it has the steps of "
            "the same run. For a run of each turn, make each there and with another name=."
        )

    def _end(self, error: BaseException | None) -> None:
        """Ends the run; it has failed with an error, unless the user or the program ended it."""
        if threading.get_ident() != self.attempt.context.commands.thread:
            # The garbage collector closes the loop, perhaps in a thread of the run.
            name = f"nbtrain end {self.name}"
            threading.Thread(target=self._leave, args=(error,), name=name, daemon=True).start()
        else:
            self._leave(error)

    def _leave(self, error: BaseException | None) -> None:
        self._interrupts.give_back()
        self._forget_pauses()
        error, self._left_with = error or self._left_with, None
        complete = error is None
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            self.coord.request_stop()
            error = None
        self.attempt.leave(error, complete=complete)
        self.attempt.monitor_threads.join(
            LAST_ROUND_SECS
        )  # so the picture, or the line of a script, is complete

    def _abandon(self, error: BaseException | None = None) -> None:
        """Ends a loop that nobody goes on with, by a stop or by an error; its thread."""
        self._left_with = error
        if error is None:
            self.coord.request_stop()
            self.attempt.boundary.must_end = True  # so its position is kept
        for turns in list(self._loops):
            turns.close()


def at_hand() -> Run | None:
    """Returns the run that trains in the calling thread; None if there is none."""
    host = owner.get()
    run = None if host is None else registry.runs.get(host.name)
    if not isinstance(run, Run) or run.handle.host is not host:
        return None
    return run if run.attempt.context.commands.thread == threading.get_ident() else None


def track(
    iterable: Iterable[Any],
    /,
    *,
    steps: int | None = None,
    checkpoint: tf.train.Checkpoint | None = None,
    hyperparameters: Any = None,
    evaluate: Evaluation | None = None,
    evaluate_secs: float | None = None,
    evaluate_steps: int | None = None,
    logdir: str | os.PathLike[str] | None = None,
    name: str | None = None,
    save_secs: float | None = 600.0,
    save_steps: int | None = None,
    keep: int | None = 5,
    on_nan: str | None = "pause",
    jump: float | None = None,
    grace: float = 10.0,
    mirror: str | None = None,
    fresh: bool = False,
    prints: str = "cell",
    system: bool = True,
    tags: Sequence[str] = (),
    keep_best: str | None = None,
    patience: int | None = None,
) -> Any:
    """Makes a run of a `for` loop, which trains in the foreground; any thread.

    The thread that loops over the run is its training thread, and is busy until the loop ends. The
    end of each turn is a step boundary: there the run records, saves, pauses and stops. A cell
    shows the panel before the first step, a script the line. Within the loop, `run.track(...)` or
    `nbtrain.track(...)` without options tracks a loop of the same run, whose turns are then the
    steps. In a cell under `%%nbtrain` and in a function of `nbtrain.background`,
    `nbtrain.track(...)` is `run.track(...)` of the run that trains there.

    A stop ends the loop and each tracked one around it, and the code after them goes on. So does an
    interrupt (Ctrl-C); a second one raises KeyboardInterrupt at once. A `break` or a `return`
    finishes the run. An error in the body is raised as ever, and the run has failed.

    Args:
        iterable: What to loop over: a `tf.data.Dataset`, a list, a range, or any other.
        steps: The step at which the run finishes, as in `train`, like all the other arguments.
        checkpoint: The objects to save, together with the position of all tracked loops.
        hyperparameters: The variables that can be set.
        evaluate: Evaluates what is trained.
        evaluate_secs: Seconds between two evaluations.
        evaluate_steps: Steps between two evaluations.
        logdir: The folder.
        name: The run's name; None takes "loop" with a number.
        save_secs: Seconds between two checkpoints.
        save_steps: Steps between two checkpoints.
        keep: The number of checkpoints to keep.
        on_nan: What to do if a loss or a variable is NaN or infinite.
        jump: The relative size of a jump of the loss that counts as bad.
        grace: Seconds that the end of the process waits for the run to stop and save.
        mirror: The address of a folder in a store to which the run is copied.
        fresh: Whether to move an earlier run in the folder aside.
        prints: Where prints are shown, "cell" or "log".
        system: Whether to record the use of the machine, under `system/`.
        tags: Words by which the run can be found again.
        keep_best: The scalar whose best state is kept.
        patience: Its judged values in a row that may be no better.

    Returns:
        The run, which trains while it is looped over. Within the loop of a run, an iterable of the
        same elements, whose turns are those of that run.

    Raises:
        ArgumentError: An argument cannot be used, or options are given within the loop of a run.

    Example:
        >>> run = nbtrain.track(dataset, checkpoint=checkpoint)
        >>> for batch in run:
        ...     run.record(loss=train_step(batch))
    """
    given = {**locals()}
    check_tracked(iterable)
    if (around := at_hand()) is not None:
        return _within(around, given)
    settings = Settings(
        *(steps, save_secs, save_steps, keep, evaluate_secs, evaluate_steps),
        *(on_nan, jump, grace, mirror, fresh),
        *(prints, system, tags),
        keep_best=keep_best,
        patience=patience,
    )
    check_evaluation(evaluate, settings)
    folder = Logdir(logdir, name, kind="loop")
    engine = LoopEngine(
        Trained(lambda: (), hyperparameters),
        as_checkpoint(checkpoint),
        folder.checkpoints,
        keep=keep,
        hyperparameters=held_by(hyperparameters),
        evaluate=evaluate,
    )
    return TrackedRun(engine, folder, settings, iterable)


def _within(run: Run, given: dict[str, Any]) -> Iterable[Any]:
    """Returns the iterable of a further loop of a run."""
    iterable = given.pop("iterable")
    usual = inspect.signature(track).parameters
    options = [name for name, value in given.items() if _differs(value, usual[name].default)]
    if options:
        raise ArgumentError(
            f"nbtrain.track(..., {options[0]}=...) was called within the loop of the run "
            f"{run.name!r}, of which it tracks a further loop. Give {options[0]}= where that run "
            "starts."
        )
    if not isinstance(run, LoopRun):
        raise ArgumentError(
            f"nbtrain.track() was called by the run {run.name!r}, which counts its steps itself: "
            "leave it out, or write the loop in a cell under %%nbtrain."
        )
    return run.track(iterable)


def _differs(value: Any, usual: object) -> bool:
    """Tells if an option was given. Variables, which may be options, have no plain `==`."""
    return value is not usual and not (isinstance(value, (float, str, tuple)) and value == usual)
