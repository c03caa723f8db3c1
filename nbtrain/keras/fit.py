"""Runs Keras `fit` in the background."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nbtrain.core.values.direction import Directions
from nbtrain.core.values.whole import whole
from nbtrain.engines.hyperparameters import held_beside
from nbtrain.engines.signatures import check_cadence
from nbtrain.keras.arguments import callbacks_of, check_model, check_validation, training_data
from nbtrain.keras.callback_rate import factor_on
from nbtrain.keras.data_position import History
from nbtrain.keras.engine import FitEngine
from nbtrain.keras.known_config import known_config
from nbtrain.keras.metric_directions import metric_directions
from nbtrain.keras.optimizers import optimizers_of
from nbtrain.keras.python_scalars import PythonScalars
from nbtrain.run.run import Run
from nbtrain.rundir.folder import Logdir
from nbtrain.steer.options import RunOptions, Settings, folder_of, with_options

if TYPE_CHECKING:
    from typing_extensions import Unpack

# Seconds that a start waits for its thread to guard the model, which it does first.
_GUARD_SECS = 5.0


class FitRun(Run):
    """A run of Keras `fit`."""

    # Keras alone handles the end of the input. An error that means the end of input in other runs
    # comes from the user's code here, such as a callback.
    input_ends = ()

    _engine: FitEngine

    def __init__(self, engine: FitEngine, logdir: Logdir, settings: Settings) -> None:
        super().__init__(engine, logdir, settings)
        engine.guard.describe = self.__repr__

    def start(self) -> Run:
        """Starts the run; from here on the model is guarded."""
        guard = self._engine.guard
        guard.was_set.clear()
        super().start()
        guard.was_set.wait(_GUARD_SECS)
        return self

    @property
    def history(self) -> History:
        """The logs of the epochs over all starts, as in `fit(...).history`: name to values."""
        return {name: list(values) for name, values in self._engine.position.history.items()}


@with_options(RunOptions)
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
    stage: str | None = None,
    start: bool = True,
    **options: Unpack[RunOptions],
) -> FitRun:
    """Fits a Keras model in the background, and returns the run at once.

    Takes the arguments of `model.fit`. Each batch is a step, at which the run can save, pause,
    restore and stop. It is recorded with its own loss as `batch_loss` (with `steps_per_execution`,
    the last batch of each execution is). The logs of an epoch are recorded as `epoch_loss`,
    `epoch_val_loss` etc. An evaluation between two epochs records `val_loss`, and so does each
    epoch from then on. `run.history` has the logs as in Keras.

    For a model with its own `train_step` (a GAN, a VAE), every scalar that it returns is recorded:
    `batch_d_loss` is the `d_loss` of one batch. If the step returns a `keras.metrics.Mean`, the
    value that it gave to the metric is recorded. Other metrics are recorded as `running_accuracy`
    etc.: their value since the epoch began.

    A checkpoint contains the model, its optimizer, metrics and random generators, and the position
    in the data. A run that was stopped or killed continues with the next batch. Arrays and a
    `PyDataset`, if shuffled, continue in the order of the run's seed (drawn from NumPy's generator,
    which `keras.utils.set_random_seed` sets), a `tf.data.Dataset` from the saved state of its
    pipeline, and a generator after as many batches. If the position cannot be kept, as with a
    distributed pipeline or one that calls Python, the panel says so.

    The state of `EarlyStopping`, `ReduceLROnPlateau`, `ModelCheckpoint` and `SwapEMAWeights` is
    saved as well: counts, the best value, and the best weights if they are to be restored. So are
    the batch counts of `TensorBoard`. If the run continues within an epoch, `on_epoch_begin` is
    called again, and its changes to the model are undone. Other callbacks keep their state across a
    restore. A run that an `EarlyStopping` has ended does not train further when it is started
    again, unless the callback is left out or has more `patience`. Then the run continues from the
    weights at that time, or from the best ones if these were to be restored.

    The batches, steps, calls of callbacks, logs and errors are those of `model.fit`. Shuffled
    arrays and a shuffled `PyDataset` have another order, and a model that is not built may be
    traced before the first batch, without computing anything. If the model has a `fit` of its own,
    it gets the data unchanged, and the position in the data is not saved.

    While the run is live, `compile`, `evaluate`, `fit`, `train_on_batch` and `test_on_batch` of the
    model raise an error in other threads; `predict` works.

    Args:
        model: A compiled `keras.Model`; it need not be built.
        x: Arrays (NumPy, pandas, SciPy or TensorFlow; lists or dicts of them), a `tf.data.Dataset`,
            a `keras.utils.PyDataset`, or a generator of batches. Other data that Keras accepts are
            passed on; a restored run draws their epoch again up to the batch.
        y: Targets, with arrays.
        batch_size: Rows of a batch, for arrays; None for 32.
        epochs: Epochs counted over all starts of the run; 0 trains nothing.
        verbose: As in Keras; 0 prints nothing, as the panel shows it.
        callbacks: Keras callbacks, called in the training thread.
        validation_split: The fraction of the arrays' last rows that is not trained on.
        validation_data: As in Keras. During validation, commands wait; a stop does not.
        shuffle: Whether rows of arrays, or batches of a `PyDataset`, come in a different order in
            each epoch.
        class_weight: Class number to weight.
        sample_weight: Weights of the rows, with arrays.
        initial_epoch: The number of a new run's first epoch, from 0.
        steps_per_epoch: Batches of an epoch, which continues where the last one ended. As in Keras,
            the epoch in which the data end is shorter, with a warning, and the next epoch starts at
            the beginning of the data. To continue instead, give a dataset with `repeat()`.
        validation_steps: As in Keras.
        validation_batch_size: As in Keras.
        validation_freq: As in Keras.
        hyperparameters: Further variables that `run.set` and the panel can change, as in `train`.
            The learning rate and the optimizer's other variables are found automatically, also
            those of optimizers in a `MultiOptimizer` (`adam_learning_rate`), and those that a model
            with a `train_step` of its own has as attributes (`d_optimizer_learning_rate`). If a
            `LearningRateSchedule` or a `LearningRateScheduler` sets the rate, it gets a factor,
            `learning_rate_factor`. The optimizer's `weight_decay` and `momentum` are found too, and
            the layers' `dropout_rate` (`dropout` and `recurrent_dropout` of recurrent layers).
            Keras keeps these as Python numbers: after an edit, the next batch traces the step
            again, which takes as long as the first trace. Momentum and rates of 0 are not found:
            Keras builds them without momenta or random generator, which another value would need.
            Layers whose rate differs from the others' have a hyperparameter with their name:
            `head_dropout_rate`. Values set by callbacks are recorded.
        evaluate_secs: Seconds between two evaluations on the validation data, in addition to those
            after epochs; None or 0 disables this. `run.evaluate()` evaluates on request.
        evaluate_steps: Batches between two evaluations; None disables this.
        stage: The name of this stage of the training, as in `train`, such as "fine-tune" for a fit
            of more layers, compiled again. The state of callbacks begins with it too.
        start: Whether to start at once.

    Raises:
        ArgumentError: An argument cannot be used; nothing was started.
        BusyError: A run that has not ended uses the folder or the model.

    Example:
        >>> run = nbtrain.fit(model, x, y, epochs=20, validation_split=0.1, name="digits")
    """
    check_model(model)
    data, validation = training_data(
        model,
        (x, y, sample_weight),
        batch_size=batch_size,
        steps=steps_per_epoch,
        class_weight=class_weight,
        shuffle=shuffle,
        share=0.0 if validation_data is not None else validation_split,
    )
    arguments = {
        "epochs": whole("epochs", epochs, least=0),
        "verbose": verbose,
        "callbacks": callbacks_of(callbacks),
        "validation_data": validation_data if validation is None else validation,
        "initial_epoch": whole("initial_epoch", initial_epoch, least=0),
        "validation_steps": validation_steps,
        "validation_batch_size": validation_batch_size or batch_size,
        "validation_freq": validation_freq,
    }
    settings = Settings.of(
        options,
        evaluate_secs=evaluate_secs,
        evaluate_steps=evaluate_steps,
        stage=stage,
        directions=Directions(metric_directions(model)),
    )
    if validation_data is not None:
        check_validation(validation_data)
    elif arguments["validation_data"] is None:
        check_cadence("validation_data", settings, "give what to evaluate on.")
    numbers = PythonScalars(model)
    held = held_beside(optimizers_of(model), hyperparameters)
    held |= factor_on(model.optimizer, arguments["callbacks"], held)
    held = {**held, **numbers.held, **held}  # explicitly given ones come first
    known = known_config(
        model,
        batch_size=data.batch_size or batch_size,
        epochs=arguments["epochs"],
        hyperparameters=held,
    )
    settings = replace(settings, known=known)
    folder = folder_of(options, kind="fit")
    engine = FitEngine(
        model,
        data,
        arguments,
        folder,
        keep=settings.keep,
        stage=settings.stage,
        hyperparameters=held,
        numbers=numbers,
    )
    run = FitRun(engine, folder, settings)
    if start:
        run.start()
    return run
