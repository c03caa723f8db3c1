"""Trains by a step function that nbtrain calls."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, SupportsFloat

import tensorflow as tf

from nbtrain.core.errors import ArgumentError
from nbtrain.engines.data.passes import Passes, passes_over
from nbtrain.engines.eager_variable import EagerVariable
from nbtrain.engines.hyperparameters import held_by
from nbtrain.engines.loops import LoopEngine
from nbtrain.engines.object_saver import ObjectSaver, as_checkpoint
from nbtrain.engines.ps.engine import on_cluster
from nbtrain.engines.signatures import check_call, check_evaluation, check_stage
from nbtrain.engines.trace import Trace
from nbtrain.engines.trained import Trained
from nbtrain.inner.variables import assigned_by
from nbtrain.run.evaluator import Evaluation
from nbtrain.run.run import Run
from nbtrain.rundir.folder import Logdir
from nbtrain.steer.options import LoopOptions, Settings, folder_of, with_options

if TYPE_CHECKING:
    from typing_extensions import Unpack

# Seconds that a cell waits for a step to be traced, so that it can show the error.
_TRACE_SECS = 2.0

Step = Callable[..., Mapping[str, SupportsFloat]]


class StepEngine(LoopEngine):
    """Calls a step function until the run stops.

    Args:
        trace: The function, and its trace if it is a `tf.function`.
        checkpoint, folder, settings, more: As in `LoopEngine`.
        given: Optimizers that the function trains, as in `Trained`.
    """

    kind = "step function"

    def __init__(
        self,
        trace: Trace,
        checkpoint: tf.train.Checkpoint | None,
        folder: Logdir,
        settings: Settings,
        *,
        given: Any = None,
        **more: Any,
    ) -> None:
        super().__init__(
            Trained(lambda: (trace.step,), given), checkpoint, folder, settings, **more
        )
        self._trace = trace

    @property
    def total_steps(self) -> int | None:
        """The elements of all passes over the data; None if unknown."""
        return None if self.passes is None else self.passes.steps

    @contextlib.contextmanager
    def session(self) -> Iterator[ObjectSaver | None]:
        """Waits for the trace, which creates the missing variables, then opens the saver."""
        self._trace.retry()
        self._trace.join()
        if self._trace.graph is not None:
            assigned = assigned_by(self._trace.graph)
            for variable in self.hyperparameters.values():
                if isinstance(variable, EagerVariable):
                    variable.note_handles(assigned)
        with super().session() as saver:
            yield saver

    def train(self, run: Run) -> None:
        """Lets the run call the step."""
        self.begin(run)
        step, passes = self._trace.step, self.passes
        with self.theirs(), run.handle.summaries():
            if passes is None:
                run.drive(step)
            else:
                passes.begin(run.handle)
                run.drive(lambda: step(next(passes.elements)), passes)


@with_options(LoopOptions)
def train(
    step: Step,
    *,
    cluster: Any = None,
    data: Any = None,
    epochs: int | None = None,
    checkpoint: tf.train.Checkpoint | None = None,
    hyperparameters: Any = None,
    evaluate: Evaluation | None = None,
    start: bool = True,
    **options: Unpack[LoopOptions],
) -> Run:
    """Trains by a step function in the background, and returns the run at once.

    Args:
        step: Does one step and returns its scalars, tag to number or tensor of shape (), as a dict
            or a named tuple; one scalar alone is recorded as `loss`. The function ends the run by
            raising StopIteration or `tf.errors.OutOfRangeError`. A `tf.function` is traced at once.
            Errors found within two seconds are raised here; later ones fail the run before its
            first step. With `cluster`, a function that builds the training.
        cluster: The cluster with parameter servers and workers to train on: a dict of addresses by
            job, a `tf.train.ClusterSpec`, a `TF_CONFIG`, a `ClusterResolver`, or a launched one
            such as `nbtrain.cluster.local(ps=1, workers=2)`. `step` is then `build`, a function
            without arguments: it is called under the scope of a
            `tf.distribute.ParameterServerStrategy`, creates the variables, and returns the step,
            the checkpoint and the hyperparameters; the last two can be left out. Workers execute
            the steps, several at once. `data` is a function that returns the `tf.data.Dataset` of a
            worker.
        data: The elements to call the step with, as `step(element)`: a `tf.data.Dataset`, a
            `tf.distribute.DistributedDataset`, a list or another iterable of batches, or a function
            that returns an iterator. These start again at their end, so leave `repeat()` out. An
            iterator, such as `iter(dataset)` or a generator, ends the run at its end. None calls
            `step()`. Checkpoints contain the position in the data: a run that was stopped or killed
            continues with the next element, and a run that goes back to a checkpoint continues with
            the element that came next there. For `tf.data`, the state of the pipeline is saved,
            including the buffer of `shuffle`. Other data, and pipelines that call Python or are
            distributed, are drawn again up to the position. Shuffle once, and with a seed;
            otherwise later passes may have another order than without a break.
        epochs: Passes over the data, counted over all starts of the run; None repeats them until
            `steps` or a stop.
        checkpoint: `tf.train.Checkpoint(model=..., optimizer=...)` with the objects to save; None
            saves nothing. The panel names trained variables that are missing in it: weights, slots
            of optimizers, and moving statistics such as those of a `BatchNormalization`.
        hyperparameters: The variables that `run.set` and the panel can change during training: name
            to a variable that the step reads, such as `{"learning_rate": optimizer.learning_rate}`;
            or a Keras optimizer; or a list of these, which get the names of your variables, such as
            `[g_opt, d_opt]`. An optimizer with a `LearningRateSchedule` gets a factor on its rate,
            `learning_rate_factor`, that can be set. A number that is not a variable, such as
            `beta_1`, is fixed in a traced step.
        evaluate: Evaluates the model and returns scalars by name, recorded as `val_<name>`.
            It is called in the training thread, between two steps. A long one may check
            `run.should_stop()`.
        start: Whether to start at once; False leaves that to `run.start()`.

    Raises:
        ArgumentError: An argument cannot be used; nothing was started.
        BusyError: A run that has not ended uses the folder or the model.

    Example:
        >>> run = nbtrain.train(step, data=dataset, epochs=20, checkpoint=checkpoint)
    """
    settings = Settings.of(options)
    check_evaluation(evaluate, settings)
    if cluster is not None:
        built = {
            "epochs": epochs,
            "checkpoint": checkpoint,
            "hyperparameters": hyperparameters,
            "stage": settings.stage,
        }
        run = on_cluster(
            cluster,
            step,
            data,
            settings,
            options,
            evaluate=evaluate,
            refused=built,
        )
        return run.start() if start else run
    passes = _passes(step, data, epochs)
    checkpoint = as_checkpoint(checkpoint)
    if settings.keep_best is not None and checkpoint is None:
        raise ArgumentError(
            f"keep_best={settings.keep_best!r} without checkpoint=: add the objects to save, such "
            "as checkpoint=tf.train.Checkpoint(model=model, optimizer=optimizer)."
        )
    check_stage(settings, checkpoint)
    held = held_by(hyperparameters)  # before the trace, which must include a factor
    trace = Trace(step, () if passes is None else passes.specs)
    trace.join(_TRACE_SECS)
    folder = folder_of(options, kind="train")
    engine = StepEngine(
        trace,
        checkpoint,
        folder,
        settings,
        given=hyperparameters,
        hyperparameters=held,
        evaluate=evaluate,
        passes=passes,
    )
    run = Run(engine, folder, settings)
    return run.start() if start else run


def _passes(step: Step, data: Any, epochs: int | None) -> Passes | None:
    """Returns the passes over the data, None without; checks that the step takes an element."""
    passes = passes_over(data, epochs)
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
    return passes
