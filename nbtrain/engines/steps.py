"""Training by a step function that nbtrain calls."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, SupportsFloat

import tensorflow as tf

from nbtrain.engines.data.epochs import epochs_over
from nbtrain.engines.hyperparameters import held_by, look_into
from nbtrain.engines.loops import LoopEngine
from nbtrain.engines.object_saver import ObjectSaver, as_checkpoint
from nbtrain.engines.signatures import check_call, check_evaluation
from nbtrain.engines.summary_calls import tell_unwritten
from nbtrain.engines.trace import Trace
from nbtrain.run.evaluator import Evaluation
from nbtrain.run.options import Settings
from nbtrain.run.run import Run
from nbtrain.rundir.folder import Logdir

# Seconds that a cell waits for a step to be traced: what is wrong with it is best told there.
_TRACE_SECS = 2.0

Step = Callable[..., Mapping[str, SupportsFloat]]


class StepEngine(LoopEngine):
    """Calls a step function until the run stops.

    Args:
        trace: The tracing of the function.
        checkpoint, directory, more: As in `LoopEngine`.
    """

    kind = "step function"

    def __init__(
        self,
        trace: Trace,
        checkpoint: tf.train.Checkpoint | None,
        directory: Path,
        **more: Any,
    ) -> None:
        super().__init__(trace.step, checkpoint, directory, **more)
        self._trace = trace

    @contextlib.contextmanager
    def session(self) -> Iterator[ObjectSaver | None]:
        """Ready once the step is traced: that creates the variables which are still missing."""
        if self._trace.failed:  # what it had found wrong may be mended by now
            self._trace = self._trace.again()
        self._trace.join()
        if self._trace.graph is not None:
            look_into(self._trace.graph, self.hyperparameters)
        with super().session() as saver:
            yield saver

    def train(self, run: Run) -> None:
        """Let the run call the step."""
        tell_unwritten(run, self.functions)
        step, passes = self._trace.step, self.passes
        if passes is None:
            run.drive(step)
        else:
            batches = passes.begin(run.handle)
            run.drive(lambda: step(next(batches)))


class StepRun(Run):
    """A run of a step function."""

    _engine: StepEngine

    @property
    def total_steps(self) -> int | None:
        """Step at which the run finishes, by `steps` or by `epochs`; None where that is unknown."""
        passes = self._engine.passes
        ends = [super().total_steps, passes and passes.steps]
        return min((end for end in ends if end), default=None)


def train(
    step: Step,
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
) -> Run:
    """Train by a step function in the background, and return the run at once.

    Args:
        step: Does one step and returns its scalars, tag to number or tensor of shape ().
            It ends the run by raising StopIteration or `tf.errors.OutOfRangeError`.
            A `tf.function` is traced at once: what is found wrong within two seconds is
            raised here, what takes longer fails the run before its first step.
        data: What to call the step with, as `step(element)`: a `tf.data.Dataset`, a
            `tf.distribute.DistributedDataset`, a list or another iterable of batches, or a
            function that returns an iterator; these begin again at their end, so leave
            `repeat()` out. An iterator, `iter(dataset)` or a generator, ends the run at its
            end. Checkpoints hold the place in the data: a run that was stopped, or killed, goes
            on with the element that comes next, and one that goes back to a checkpoint with
            the one that came next there. Of `tf.data` the states of the pipeline are saved,
            with what `shuffle` holds; what is no pipeline, or one that calls Python or is
            distributed, is drawn again up to the place. Shuffle once, and with a seed: else
            passes to come may have another order than without a break. None calls `step()`.
        epochs: Passes over the data, over all lives of the run; None begins again until `steps`,
            or a stop.
        steps: Step at which the run finishes; None trains until stopped.
        checkpoint: `tf.train.Checkpoint(model=..., optimizer=...)`, naming what to save;
            None saves nothing. What the step trains beside it is told: weights, slots of
            optimizers, and moving statistics as those of a `BatchNormalization`.
        hyperparameters: What `run.set` and the panel can change while it trains: name to
            the variable that the step reads, such as `{"learning_rate":
            optimizer.learning_rate}`; or a Keras optimizer, which under a
            `LearningRateSchedule` gets a factor on its rate, `learning_rate_factor`, to be
            set. A number that is no variable, such as `beta_1`, is fixed in a traced step.
        evaluate: Evaluates what is trained, and returns scalars by name, recorded as
            `val_<name>`; called in the training thread, between two steps. A long one may
            look at `run.should_stop()`.
        evaluate_secs: Seconds between two evaluations; None or 0 evaluates none by time.
        evaluate_steps: Steps between two evaluations; None evaluates none by steps.
        logdir: Folder of the run; None takes `runs/<name>`.
        name: The run's name; None takes a new numbered one. A run in a folder that has
            checkpoints goes on from the latest.
        save_secs: Seconds between two checkpoints; None or 0 saves none by time.
        save_steps: Steps between two checkpoints; None saves none by steps.
        keep: Checkpoints that stay, the newest; None keeps all.
        on_nan: What is done where the loss (a scalar whose last word is `loss`, and that is of
            no validation) or a variable that is saved is NaN or infinite: "pause", before
            that is saved; "recover" goes back to the last good checkpoint and halves the
            hyperparameter `learning_rate` or `learning_rate_factor`, the sixth time it
            pauses as well; None goes on. For that, good states are copied to `last_good` beside
            the checkpoints, at the start and every ten seconds, or less often where that would
            take more than 1 % of the time; the newest three stay until the run has ended well.
            Where it goes bad with the last of the data, it ends: told, and not saved.
        jump: So many times the median of the last losses is bad as well, such as 10.0; None:
            no height is.
        grace: Seconds that the end of the process waits for the run to stop and save; see README.
        start: Whether to start at once; False leaves that to `run.start()`.

    Raises:
        ArgumentError: An argument that cannot be used; nothing was started.
        BusyError: A run that has not ended holds the folder or the model.

    Example:
        >>> run = nbtrain.train(step, data=dataset, epochs=20, checkpoint=checkpoint)
    """
    settings = Settings(
        steps, save_secs, save_steps, keep, evaluate_secs, evaluate_steps, on_nan, jump, grace
    )
    check_evaluation(evaluate, settings)
    passes = epochs_over(data, epochs)
    if passes is None:
        advice = (
            "give a function without arguments that does one step and returns its scalars, such "
            'as lambda: {"loss": train_step(next(batches))}; or the batches as data=.'
        )
        check_call("step", step, advice=advice)
    else:
        advice = (
            "give a function of one argument, an element of the data, that does one step and "
            'returns its scalars, such as lambda batch: {"loss": train_step(*batch)}.'
        )
        check_call("step", step, None, advice=advice)
    checkpoint = as_checkpoint(checkpoint)
    held = held_by(hyperparameters)  # before the trace, which a factor has to be in
    trace = Trace(step, () if passes is None else passes.specs)
    trace.join(_TRACE_SECS)
    folder = Logdir(logdir, name, kind="train")
    engine = StepEngine(
        trace,
        checkpoint,
        folder.checkpoints,
        keep=keep,
        hyperparameters=held,
        evaluate=evaluate,
        passes=passes,
        given=hyperparameters,
    )
    run = StepRun(engine, folder, settings)
    return run.start() if start else run
