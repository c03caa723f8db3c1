"""Keras `fit` in the background."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from nbtrain.engines.hyperparameters import held_beside
from nbtrain.engines.keras.arguments import Input, check_model, check_validation, further
from nbtrain.engines.keras.callback_rate import factor_on
from nbtrain.engines.keras.data_position import History
from nbtrain.engines.keras.engine import FitEngine
from nbtrain.engines.keras.python_scalars import PythonScalars
from nbtrain.engines.signatures import check_cadence
from nbtrain.run.options import Settings
from nbtrain.run.run import Run
from nbtrain.rundir.folder import Logdir

# Seconds that a start waits for the model to be guarded, which its thread does first of all.
_GUARD_SECS = 5.0


class FitRun(Run):
    """A run of Keras `fit`."""

    _engine: FitEngine

    def __init__(self, engine: FitEngine, logdir: Logdir, settings: Settings) -> None:
        super().__init__(engine, logdir, settings)
        engine.describe = self.__repr__

    def start(self) -> Run:
        """Start, as any run; from here on the model is guarded."""
        super().start()
        self._engine.guarded.wait(_GUARD_SECS)
        return self

    @property
    def total_steps(self) -> int | None:
        """Batches of all epochs; None as long as the length of an epoch is not known."""
        return self._engine.total_steps

    @property
    def history(self) -> History:
        """What the epochs gave, over all lives, as `fit(...).history`: name to values."""
        return {name: list(values) for name, values in self._engine.place.history.items()}


def fit(
    model: Any,
    x: Any = None,
    y: Any = None,
    batch_size: int | None = None,
    epochs: int = 1,
    verbose: str | int = 0,
    callbacks: Sequence[Any] | None = None,
    validation_split: float = 0.0,
    validation_data: Any = None,
    shuffle: bool | str = True,
    class_weight: dict[int, float] | None = None,
    sample_weight: Any = None,
    initial_epoch: int = 0,
    steps_per_epoch: int | None = None,
    validation_steps: int | None = None,
    validation_batch_size: int | None = None,
    validation_freq: Any = 1,
    *,
    hyperparameters: Any = None,
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
) -> FitRun:
    """Fit a Keras model in the background, and return the run at once.

    Takes what `model.fit` takes. Each batch is a step: recorded with its own loss as
    `batch_loss` (with `steps_per_execution` the last batch of each execution), and a place
    where the run saves, pauses, restores and stops. What an epoch gave is recorded as
    `epoch_loss`, `epoch_val_loss` and so on, of an evaluation between two epochs `val_loss`
    (and so of each epoch from then on); `run.history` has it as Keras does.

    A model with a `train_step` of its own (a GAN, a VAE) is recorded with every scalar that it
    returns: `batch_d_loss` is the `d_loss` of one batch, also where a `keras.metrics.Mean` is
    returned, of which the value is taken that the step has given it. Other metrics are recorded
    as `running_accuracy` and so on: their value since the epoch began.

    A checkpoint holds the model, its optimizer, metrics and random generators, and the place
    in the data. A run that was stopped, or killed, goes on with the batch that comes next:
    arrays and a `PyDataset` in the order that the run's seed gives (drawn from NumPy's
    generator, which `keras.utils.set_random_seed` sets), a `tf.data.Dataset` from the saved
    state of its pipeline, a generator after as many batches. Where the place cannot be kept,
    as with a distributed pipeline, or one that calls Python, the panel says so. What an
    `EarlyStopping`, a `ReduceLROnPlateau` and a `ModelCheckpoint` remember is saved as well:
    their counts and the best value, and the best weights, where they are to be restored. What
    other callbacks remember goes on as it is. A run that an `EarlyStopping` has ended trains no
    more when it is started again, unless that has more `patience` by then, or is left out; it
    goes on from the weights it had then, the best where these were to be restored.

    While the run lives, `compile`, `evaluate`, `fit`, `train_on_batch` and `test_on_batch` of
    the model are refused in other threads; `predict` works.

    Args:
        model: A compiled `keras.Model`; it need not be built.
        x: Arrays (of NumPy, pandas, SciPy or TensorFlow; lists or dicts of them), a
            `tf.data.Dataset`, a `keras.utils.PyDataset`, or a generator of batches. Others
            that Keras takes are handed on; a restored run draws their epoch again up to the
            batch.
        y: Targets, with arrays.
        batch_size: Rows of a batch, of arrays; None takes 32.
        epochs: Epochs over all lives of the run.
        verbose: As in Keras; 0 prints nothing, for there is the panel.
        callbacks: Of Keras's, called in the training thread.
        validation_split: Share of the arrays' last rows that is not trained on.
        validation_data: As in Keras. While it is evaluated, commands wait; a stop does not.
        shuffle: Whether rows of arrays, or batches of a `PyDataset`, come in another order in
            each epoch.
        class_weight: Class number to weight.
        sample_weight: Weights of the rows, with arrays.
        initial_epoch: Where a new run begins to count epochs, from 0.
        steps_per_epoch: Batches of an epoch; the data go on where the epoch before has
            ended, and begin again at their end.
        validation_steps: As in Keras, and so are the next two.
        validation_batch_size: Rows of its batches.
        validation_freq: Epochs after which there is one.
        hyperparameters: What else `run.set` and the panel can change, as in `train`. Found by
            themselves are the learning rate (one by a `LearningRateSchedule`, and one that a
            `LearningRateScheduler` sets, gets a factor, `learning_rate_factor`) and what else of
            the optimizer is a variable; its `weight_decay` and `momentum`, and the `dropout_rate`
            of the layers (`dropout` and `recurrent_dropout` of recurrent ones). Those Keras keeps
            as Python numbers: after an edit the next batch traces the step again, which takes as
            long as at the first. Momentum and rates that are 0 are not found: what Keras builds
            with 0 has no momenta, or no random generator, as another value would need. Layers of
            another rate than the others have theirs under their name: `head_dropout_rate`. What
            callbacks set is recorded where they set it; one that undoes an edit is named.
        evaluate_secs: Seconds between two evaluations on the validation data, besides those
            after epochs; None or 0 evaluates none by time. `run.evaluate()` does it when asked.
        evaluate_steps: Batches between two; None evaluates none by steps.
        logdir: As in `train`, and so are all the others; a batch is a step.
        name: The run's name.
        save_secs: Seconds between two checkpoints.
        save_steps: Batches between two checkpoints.
        keep: Checkpoints that stay.
        on_nan: What is done about a loss or a variable that is NaN or infinite.
        jump: What jump of the loss is bad.
        grace: Seconds that the end of the process waits for the run to stop and save; see README.
        start: Whether to start at once.

    Raises:
        ArgumentError: An argument that cannot be used; nothing was started.
        BusyError: A run that has not ended holds the folder or the model.

    Example:
        >>> run = nbtrain.fit(model, x, y, epochs=20, validation_split=0.1, name="digits")
    """
    check_model(model)
    given = Input(
        x,
        y,
        sample_weight,
        batch_size=batch_size,
        steps_per_epoch=steps_per_epoch,
        class_weight=class_weight,
        shuffle=shuffle,
        validation_split=0.0 if validation_data is not None else validation_split,
        model=model,
    )
    arguments = further(
        epochs=epochs,
        verbose=verbose,
        callbacks=callbacks,
        validation_data=validation_data if given.validation is None else given.validation,
        initial_epoch=initial_epoch,
        validation_steps=validation_steps,
        validation_batch_size=validation_batch_size or batch_size,
        validation_freq=validation_freq,
    )
    settings = Settings(
        None, save_secs, save_steps, keep, evaluate_secs, evaluate_steps, on_nan, jump, grace
    )
    if validation_data is not None:
        check_validation(validation_data)
    elif arguments["validation_data"] is None:
        check_cadence("validation_data", settings, "give what to evaluate on.")
    numbers = PythonScalars(model)
    held = held_beside(model.optimizer, hyperparameters)
    held |= factor_on(model.optimizer, arguments["callbacks"], held)
    folder = Logdir(logdir, name, kind="fit")
    engine = FitEngine(
        model,
        given.data,
        arguments,
        folder,
        keep=keep,
        hyperparameters={**held, **numbers.held, **held},  # what was given comes first
        numbers=numbers,
    )
    run = FitRun(engine, folder, settings)
    if start:
        run.start()
    return run
