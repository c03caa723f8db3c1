"""Trains by a loop that the user wrote."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import tensorflow as tf

from nbtrain.core.epoch import Epoch
from nbtrain.core.errors import ArgumentError
from nbtrain.core.text.tracebacks import callers
from nbtrain.core.values.hyperparameters import NO_VARIABLES, Variable
from nbtrain.engines.data.passes import Passes, passes_over
from nbtrain.engines.data.tracked import Tracked, check_tracked
from nbtrain.engines.data.tracks import Tracks
from nbtrain.engines.hyperparameters import held_by
from nbtrain.engines.keras_layers import describing
from nbtrain.engines.object_saver import ObjectSaver, as_checkpoint, roots_of
from nbtrain.engines.signatures import check_call, check_evaluation, check_stage
from nbtrain.engines.trained import Trained
from nbtrain.run.boundary.track_loop import ProgramEnd
from nbtrain.run.evaluator import Evaluation
from nbtrain.run.run import Run
from nbtrain.run.thread.summaries import theirs
from nbtrain.run.thread.threads import Coordinator
from nbtrain.rundir.folder import Logdir
from nbtrain.steer.options import LoopOptions, Settings, folder_of, with_options

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")


class LoopEngine:
    """Runs the user's own loop.

    Args:
        trained: The variables that the loop trains; also an attribute.
        checkpoint: None saves nothing.
        folder: The run's folder.
        settings: How many checkpoints to keep, and the name of the stage of the training.
        hyperparameters: The variables that can be set while it trains.
        evaluate: None if there is nothing to evaluate.
        passes: The data, whose position is saved and restored too; None if the loop has its own.

    Attributes:
        theirs: Enters the summary writer that the user has set, if there is one.
    """

    kind = "own loop"
    origin: str | None = None

    def __init__(
        self,
        trained: Trained,
        checkpoint: tf.train.Checkpoint | None,
        folder: Logdir,
        settings: Settings,
        *,
        hyperparameters: Mapping[str, Variable] = NO_VARIABLES,
        evaluate: Evaluation | None = None,
        passes: Passes | None = None,
    ) -> None:
        self.coord = Coordinator()
        self.functions = trained.functions()
        self.hyperparameters = hyperparameters
        self.evaluate = evaluate
        self.passes = passes
        self.tracks = Tracks()
        self.theirs = theirs()
        self.trained = trained
        self._checkpoint = checkpoint
        self._folder, self._settings = folder, settings

    @property
    def epoch(self) -> Epoch | None:
        """The pass over `data`, or the turn of the outermost tracked loop."""
        return self.tracks.epoch if self.passes is None else self.passes.epoch

    @property
    def total_steps(self) -> int | None:
        """The step at which the tracked loops end; None if unknown."""
        return self.tracks.total or None

    @property
    def resumes(self) -> Path | None:
        """The folder of its checkpoints; None if it saves nothing by itself."""
        return None if self._checkpoint is None else self._folder.checkpoints

    def models(self) -> list[object]:
        """Returns all objects that the checkpoint reaches."""
        if self._checkpoint is None:
            return []
        return list(tf.train.TrackableView(self._checkpoint).descendants())

    def roots(self) -> list[object]:
        """Returns the objects that the checkpoint was made of."""
        return list(self._held().values())

    def branched(self, folder: Logdir) -> LoopEngine:
        """Returns the same loop in another folder.

        Raises:
            ArgumentError: The run was started without a checkpoint.
        """
        if self._checkpoint is None:
            raise ArgumentError(
                "A branch begins at a checkpoint, and this run saves none by itself: start it with "
                "checkpoint= (a tf.train.Checkpoint). Only a Supervisor or a MonitoredSession "
                "continues from the checkpoints that it saves itself."
            )
        engine = copy.copy(self)
        engine.tracks = Tracks()
        engine.coord, engine._folder = Coordinator(), folder
        return engine

    @contextlib.contextmanager
    def session(self) -> Iterator[ObjectSaver | None]:
        """Creates the saver; there is no session to open."""
        self.tracks.begin(again=self.passes is None)
        if self._checkpoint is None:
            yield None
        else:
            yield ObjectSaver(
                self._checkpoint,
                self._folder.checkpoints,
                keep=self._settings.keep,
                position=self.passes or self.tracks,
                origin=self.origin,
                trained=self.trained,
                stage=self._settings.stage,
            )
        self.tracks.end()

    def begin(self, run: Run) -> None:
        """Lets the run describe the Keras models in the checkpoint; training thread only."""
        run.attempt.model_graph.set(*describing(self._held()))

    def _held(self) -> Mapping[str, object]:
        return {} if self._checkpoint is None else roots_of(self._checkpoint)

    def train(self, run: Run) -> None:
        """Calls the loop."""
        self.begin(run)
        run.handle.track.ends_program = True
        with self.theirs(), run.handle.summaries(), contextlib.suppress(ProgramEnd):
            if self.passes is None:
                self.functions[0](run)
            else:
                self.functions[0](run, self.passes.begin(run.handle))


class LoopRun(Run):
    """A run of a loop of the user's own."""

    _engine: LoopEngine

    def track(self, iterable: Iterable[T]) -> Iterable[T]:
        """Makes each turn of a `for` loop a step of the run; used in the training thread.

        The end of each turn is a step boundary. A stop ends the loop, and at once each tracked loop
        around it. A loop that contains another tracked loop counts epochs; its turns are no steps.
        Checkpoints contain the position of all tracked loops, as with `data=` of `nbtrain.train`. A
        run that is started again executes the program from its first line, without the turns that
        were done. A run that goes back to a checkpoint stays in its turn of the outer loop, and
        draws the elements that came next there.

        Args:
            iterable: The iterable to loop over: a `tf.data.Dataset`, a list, a range, or any other.

        Returns:
            An iterable of the same elements.

        Raises:
            ArgumentError: The iterable cannot be looped over. When the loop begins: another thread
                than the training thread executes it, or `run.should_stop()` counts the steps
                already.

        Example:
            >>> for epoch in run.track(range(50)):
            ...     for batch in run.track(dataset):
            ...         run.record(loss=train_step(batch))
        """
        check_tracked(iterable)
        code, line = callers()[0]
        return Tracked(iterable, self._engine.tracks, self.handle, (code.co_filename, line))


@with_options(LoopOptions)
def background(
    function: Callable[..., object] | None = None,
    /,
    *,
    data: Any = None,
    epochs: int | None = None,
    checkpoint: tf.train.Checkpoint | None = None,
    hyperparameters: Any = None,
    evaluate: Evaluation | None = None,
    start: bool = True,
    **options: Unpack[LoopOptions],
) -> Any:
    """Runs a loop of the user's own in the background; a decorator that returns the run.

    Args:
        function: The loop. It takes the run, calls `run.should_stop()` once a step, and records
            scalars with `run.record(loss=...)`. With `data`, it also takes an iterator over the
            data; elements drawn after that call belong to the step.
        data: The data that the loop draws from. This and all other arguments are as in `train`.
        epochs: Passes over the data.
        checkpoint: The objects to save.
        hyperparameters: The variables that can be set.
        evaluate: Evaluates the model, and returns scalars by name.
        start: Whether to start at once.

    Returns:
        The run; with options and without a function, the decorator that makes it.

    Raises:
        ArgumentError: An argument cannot be used; nothing was started.
        BusyError: A run that has not ended uses the folder or the model.

    Example:
        >>> @nbtrain.background(data=dataset, checkpoint=checkpoint)
        ... def digits(run, batches):
        ...     while not run.should_stop():
        ...         run.record(loss=train_step(next(batches)))
    """
    settings = Settings.of(options)
    check_evaluation(evaluate, settings)
    checkpoint = as_checkpoint(checkpoint)
    check_stage(settings, checkpoint)
    held = held_by(hyperparameters)

    def decorate(loop: Callable[..., object]) -> Run:
        passes = passes_over(data, epochs)
        takes, args = ("run", [None]) if passes is None else ("run and batches", [None, None])
        advice = f"decorate a function that takes {takes}, and asks run.should_stop() once a step."
        check_call("function", loop, *args, advice=advice)
        folder = folder_of(options, kind=getattr(loop, "__name__", "loop"))
        engine = LoopEngine(
            Trained(lambda: (loop,), hyperparameters),
            checkpoint,
            folder,
            settings,
            hyperparameters=held,
            evaluate=evaluate,
            passes=passes,
        )
        run = LoopRun(engine, folder, settings)
        return run.start() if start else run

    return decorate if function is None else decorate(function)
