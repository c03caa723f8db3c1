"""Trains by a loop that the user wrote."""

from __future__ import annotations

import contextlib
import copy
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import tensorflow as tf

from nbtrain.core.errors import ArgumentError
from nbtrain.core.hyperparameters import NO_VARIABLES, Variable
from nbtrain.engines.data.epochs import EpochIterator, epochs_over
from nbtrain.engines.data.position_saver import PositionSaver
from nbtrain.engines.hyperparameters import held_by
from nbtrain.engines.object_saver import ObjectSaver, as_checkpoint
from nbtrain.engines.signatures import check_call, check_evaluation
from nbtrain.engines.summary_calls import tell_unwritten
from nbtrain.engines.trained import Trained
from nbtrain.run.evaluator import Evaluation
from nbtrain.run.options import Settings
from nbtrain.run.run import Run
from nbtrain.run.threads import Coordinator
from nbtrain.rundir.folder import Logdir


class LoopEngine:
    """Runs the user's own loop.

    Args:
        trained: What trains: the loop.
        checkpoint: None saves nothing.
        directory: The folder of the checkpoints.
        keep: How many checkpoints to keep; None keeps all.
        hyperparameters: The variables that can be set while it trains.
        evaluate: None if there is nothing to evaluate.
        passes: The data, whose position is saved and restored too; None if the loop has its own.
    """

    kind = "own loop"
    origin: str | None = None

    def __init__(
        self,
        trained: Trained,
        checkpoint: tf.train.Checkpoint | None,
        directory: Path,
        *,
        keep: int | None,
        hyperparameters: Mapping[str, Variable] = NO_VARIABLES,
        evaluate: Evaluation | None = None,
        passes: EpochIterator | None = None,
    ) -> None:
        self.coord = Coordinator()
        self.functions = trained.functions()
        self.hyperparameters = hyperparameters
        self.evaluate = evaluate
        self.passes = passes
        self._trained = trained
        self._checkpoint = checkpoint
        self._directory = directory
        self._keep = keep

    @property
    def resumes(self) -> Path | None:
        """The folder of its checkpoints; None if it saves nothing by itself."""
        return None if self._checkpoint is None else self._directory

    def models(self) -> list[object]:
        """Everything that the checkpoint reaches."""
        if self._checkpoint is None:
            return []
        return list(tf.train.TrackableView(self._checkpoint).descendants())

    def roots(self) -> list[object]:
        """The objects that the checkpoint was made of."""
        held = self._checkpoint
        return [] if held is None else [*tf.train.TrackableView(held).children(held).values()]

    def branched(self, folder: Logdir) -> LoopEngine:
        """Returns the same loop in another folder.

        Raises:
            ArgumentError: It was started without a checkpoint.
        """
        if self._checkpoint is None:
            raise ArgumentError(
                "A branch begins at a checkpoint, and this run saves none by itself: start it with "
                "checkpoint= (a tf.train.Checkpoint). What a Supervisor or a MonitoredSession in "
                "its loop saves can be gone on from by these alone."
            )
        engine = copy.copy(self)
        engine.coord, engine._directory = Coordinator(), folder.checkpoints
        return engine

    @contextlib.contextmanager
    def session(self) -> Iterator[ObjectSaver | None]:
        """Creates the saver; there is no session to open."""
        held, passes, directory = self._checkpoint, self.passes, self._directory
        more: Any = {"keep": self._keep, "origin": self.origin, "trained": self._trained}
        if held is None:
            yield None
        elif passes is None:
            yield ObjectSaver(held, directory, **more)
        else:
            yield PositionSaver(held, passes, directory, **more)

    def train(self, run: Run) -> None:
        """Calls the loop."""
        tell_unwritten(run, self.functions)
        if self.passes is None:
            self.functions[0](run)
        else:
            self.functions[0](run, self.passes.begin(run.handle))


def background(
    function: Callable[..., object] | None = None,
    /,
    *,
    data: Any = None,
    epochs: int | None = None,
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
    start: bool = True,
) -> Any:
    """Runs a loop of the user's own in the background; a decorator that returns the run.

    Args:
        function: The loop. It takes the run, asks `run.should_stop()` once a step, and records
            scalars with `run.record(loss=...)`. With `data`, it also takes an iterator over the
            data: elements drawn after asking belong to the step.
        data: The data that the loop draws from, as in `train`, like all the other arguments.
        epochs: Passes over the data.
        steps: The step at which the run finishes.
        checkpoint: The objects to save.
        hyperparameters: The variables that can be set.
        evaluate: Evaluates what is trained.
        evaluate_secs: Seconds between two evaluations.
        evaluate_steps: Steps between two evaluations.
        logdir: The folder.
        name: The run's name; None takes the function's name with a number.
        save_secs: Seconds between two checkpoints.
        save_steps: Steps between two checkpoints.
        keep: The number of checkpoints to keep.
        on_nan: What to do if a loss or a variable is NaN or infinite.
        jump: The relative size of a jump of the loss that counts as bad.
        grace: Seconds that the end of the process waits for the run to stop and save; see README.
        start: Whether to start at once.

    Returns:
        The run; with options and without a function, the decorator that makes it.

    Raises:
        ArgumentError: An argument cannot be used; nothing was started.
        BusyError: A run that has not ended holds the folder or the model.

    Example:
        >>> @nbtrain.background(data=dataset, checkpoint=checkpoint)
        ... def digits(run, batches):
        ...     while not run.should_stop():
        ...         run.record(loss=train_step(next(batches)))
    """
    settings = Settings(
        steps, save_secs, save_steps, keep, evaluate_secs, evaluate_steps, on_nan, jump, grace
    )
    check_evaluation(evaluate, settings)
    checkpoint = as_checkpoint(checkpoint)
    held = held_by(hyperparameters)

    def decorate(loop: Callable[..., object]) -> Run:
        passes = epochs_over(data, epochs)
        takes, args = ("run", [None]) if passes is None else ("run and batches", [None, None])
        advice = f"decorate a function that takes {takes}, and asks run.should_stop() once a step."
        check_call("function", loop, *args, advice=advice)
        folder = Logdir(logdir, name, kind=getattr(loop, "__name__", "loop"))
        engine = LoopEngine(
            Trained(lambda: (loop,), hyperparameters),
            checkpoint,
            folder.checkpoints,
            keep=keep,
            hyperparameters=held,
            evaluate=evaluate,
            passes=passes,
        )
        run = Run(engine, folder, settings)
        return run.start() if start else run

    return decorate if function is None else decorate(function)
