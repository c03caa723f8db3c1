"""Keras `fit` in the background."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from nbtrain.engines.calls import check_cadence
from nbtrain.engines.hyperparameters import held_beside
from nbtrain.engines.keras_arguments import Input, check_model, further
from nbtrain.engines.keras_data import Data
from nbtrain.engines.keras_guard import Guard
from nbtrain.engines.keras_memory import Memory
from nbtrain.engines.keras_numbers import Numbers
from nbtrain.engines.keras_place import History, Place
from nbtrain.engines.keras_steered import Leave, PlacedLoss, Steered
from nbtrain.engines.keras_thread import ThreadState
from nbtrain.engines.keras_validation import StoppedError, Validation
from nbtrain.engines.place_saver import PlaceSaver
from nbtrain.errors import ArgumentError
from nbtrain.host import Host
from nbtrain.hyperparameters import Variable
from nbtrain.logdir import Logdir
from nbtrain.run import Run
from nbtrain.settings import Settings
from nbtrain.threads import Coordinator

# Seconds that a start waits for the model to be guarded, which its thread does first of all.
_GUARD_SECS = 5.0


class FitEngine:
    """Calls `model.fit`, again where a restore has gone back.

    Args:
        model: The compiled model.
        data: What it is fitted on.
        arguments: Further ones of `fit`.
        folder: Of the run.
        keep: How many checkpoints stay; None keeps all.
        hyperparameters: What can be set while it trains.
        numbers: What of the model is kept in no variable.

    Attributes:
        place: Where it is in its data.
        guarded: Set while nothing but the run may train the model.
        describe: Says how the run stands.
    """

    kind = "Keras fit"
    functions = ()
    origin: str | None = None

    def __init__(
        self,
        model: Any,
        data: Data,
        arguments: dict[str, Any],
        folder: Logdir,
        *,
        keep: int | None,
        hyperparameters: Mapping[str, Variable],
        numbers: Numbers,
    ) -> None:
        self.coord = Coordinator()
        self.hyperparameters = hyperparameters
        memory = Memory(arguments["callbacks"])
        self.place = Place(model, data, arguments["initial_epoch"], numbers, memory)
        self.guarded = threading.Event()
        self.describe: Callable[[], str] = str
        self.name = folder.name
        self._model = model
        self._arguments = arguments
        self._directory: Path = folder.checkpoints
        self._keep = keep
        self._thread_state = ThreadState()
        validation = arguments["validation_data"]
        self.evaluate = (
            None
            if validation is None
            else Validation(
                model,
                validation,
                steps=arguments["validation_steps"],
                batch_size=arguments["validation_batch_size"],
                asked_to_stop=self.coord.should_stop,
            )
        )

    @property
    def epochs(self) -> int:
        """Epochs to train, over all lives of the run."""
        return int(self._arguments["epochs"])

    @property
    def total_steps(self) -> int | None:
        """Batches of them all; None as long as the length of an epoch is not known."""
        steps, first = self.place.data.steps, self._arguments["initial_epoch"]
        return None if steps is None else (self.epochs - first) * steps

    def models(self) -> list[object]:
        """Everything that the model reaches."""
        return list(tf.train.TrackableView(self._model).descendants())

    def branched(self, folder: Logdir) -> FitEngine:
        """The same fit, in another folder, with a place of its own in the same data."""
        return FitEngine(
            self._model,
            self.place.data,
            self._arguments,
            folder,
            keep=self._keep,
            hyperparameters=self.hyperparameters,
            numbers=self.place.numbers,
        )

    @contextlib.contextmanager
    def session(self) -> Iterator[PlaceSaver]:
        """The model with all its variables, guarded; and the saver."""
        guard = Guard(self._model, self.name, self.describe)
        guard.set()
        self.guarded.set()
        try:
            with self._thread_state.entered():
                self._build()
                whole = tf.train.Checkpoint(model=self._model, fit=self.place.saved)
                directory, keep, origin = self._directory, self._keep, self.origin
                yield PlaceSaver(whole, self.place, directory, keep=keep, origin=origin)
        finally:
            guard.remove()
            self.guarded.clear()

    def train(self, run: Run) -> None:
        """Fit, from wherever the place is."""
        place, host = self.place, run.life.host
        if (why := self._why_over(host)) is not None:
            host.note("epochs", f"{why}, or another name= to begin anew.")
            run.should_stop()
            return
        loss = PlacedLoss(self._model, place)
        host.at_end(loss.remove)
        run.life.watch.spending.waits = loss.waits
        steered = Steered(
            run,
            place,
            loss,
            self._arguments["callbacks"],
            self._model,
            verbose=self._arguments["verbose"],
            epochs=self.epochs,
            steps=place.data.steps,
        )
        host.at_end(lambda: self._end(steered))
        while place.epoch < self.epochs:
            self._fit(host, steered)
            if not place.moved or host.asked_to_stop():
                return

    def _why_over(self, host: Host) -> str | None:
        """Why nothing is left to train, and what to give for more; None where something is."""
        place = self.place
        if place.epoch >= self.epochs:
            return (
                f"{place.epoch:,} of {self.epochs:,} epochs are over: there is nothing left to "
                "train. Give more epochs="
            )
        stopping = None if place.batch else place.memory.ended(place.epoch)
        if stopping is None:
            return None
        stopping.set_model(self._model)
        host.at_end(stopping.on_train_end)  # it may have the best weights
        return (
            f"EarlyStopping has ended the training after {place.epoch:,} of {self.epochs:,} "
            "epochs: there is nothing left to train. Give it more patience=, or leave it out"
        )

    def _build(self) -> None:
        """Make the variables that a checkpoint is to set: Keras makes them at the first batch.

        Those of the metrics as well, where no tracing of the step makes them before it runs.
        """
        model = self._model
        missing = not model.built or model.run_eagerly
        with model.distribute_strategy.scope():
            if missing and (batch := self.place.data.first()) is not None:
                x, y, weights = keras.utils.unpack_x_y_sample_weight(batch)
                with contextlib.suppress(NotImplementedError):  # a train_step needs no call()
                    model(x)
                    if model.run_eagerly:
                        model.test_on_batch(x, y, weights)
            optimizer = model.optimizer
            if model.built and optimizer is not None and not optimizer.built:
                optimizer.build(model.trainable_variables)

    def _fit(self, host: Host, steered: Steered) -> None:
        """One call of Keras's; it is left where the run stops, or has moved."""
        place, model = self.place, self._model
        place.moved = False
        if place.batch and place.batch == place.data.steps:
            model.stop_training = False
            try:
                self._end_epoch(host, steered)
            except StoppedError:
                return
            if model.stop_training:
                return
        arguments = {**self._arguments, **place.begin_fit(), "initial_epoch": place.epoch}
        host.note("place", place.note)
        host.note("numbers", place.numbers.note)
        try:
            model.fit(**{**arguments, "callbacks": steered})
        except Leave:
            host.note("evaluating", None)
            vars(model).pop("_eval_epoch_iterator", None)  # Keras's, of its validation

    def _end_epoch(self, host: Host, steered: Steered) -> None:
        """The end of an epoch that was left in its validation, which begins again.

        Raises:
            StoppedError: It was left once more.
        """
        place = self.place
        try:
            found = {} if self.evaluate is None else self.evaluate()
        except ArgumentError as error:  # a generator goes on for the epochs to come
            found = {}
            host.note("validation", f"Epoch {place.epoch + 1} has no validation: {error}")
        steered.begin()
        place.logs |= {f"val_{name}": value for name, value in found.items()}
        steered.on_epoch_end(place.epoch, place.logs)

    def _end(self, steered: Steered) -> None:
        """What Keras does at its end, after the last checkpoint: callbacks may set weights."""
        if not steered.begun:
            return
        if isinstance(self._model.optimizer, keras.optimizers.Optimizer):
            self._model.optimizer.finalize_variable_values(self._model.trainable_weights)
        steered.on_train_end()


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
    start: bool = True,
) -> FitRun:
    """Fit a Keras model in the background, and return the run at once.

    Takes what `model.fit` takes. Each batch is a step: recorded with its own loss as
    `batch_loss` (with `steps_per_execution` the last batch of each execution), and a place
    where the run saves, pauses, restores and stops. What an epoch gave is recorded as
    `epoch_loss`, `epoch_val_loss` and so on; `run.history` has it as Keras does.

    A checkpoint holds the model, its optimizer, metrics and random generators, and the place
    in the data. A run that was stopped, or killed, goes on with the batch that comes next:
    arrays and a `PyDataset` in the order that the run's seed gives (drawn from NumPy's
    generator, which `keras.utils.set_random_seed` sets), a `tf.data.Dataset` from the saved
    state of its pipeline, a generator after as many batches. Where the place cannot be kept,
    as with a distributed pipeline, or one that calls Python, the panel says so. What an
    `EarlyStopping`, a `ReduceLROnPlateau` and a `ModelCheckpoint` remember is saved as well:
    their counts and the best value, and the best weights, where they are to be restored. What
    other callbacks remember goes on as it is. A run that an `EarlyStopping` has ended trains no
    more when it is started again, unless that has more `patience` by then, or is left out.

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
            themselves are the learning rate (a `LearningRateSchedule` gets a factor,
            `learning_rate_factor`) and what else of the optimizer is a variable; its
            `weight_decay` and `momentum`, and the `dropout_rate` of the layers (`dropout` and
            `recurrent_dropout` of recurrent ones), where they are not 0. Those Keras keeps as
            Python numbers: after an edit the next batch traces the step again, which takes as
            long as at the first. Layers of another rate than the others have theirs under
            their name: `head_dropout_rate`.
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
        start: Whether to start at once.

    Raises:
        ArgumentError: An argument that cannot be used; nothing was started.
        BusyError: A run that has not ended holds the folder or the model.

    Example:
        >>> run = nbtrain.fit(model, x, y, epochs=20, validation_split=0.1, name="digits")
        >>> run
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
        None, save_secs, save_steps, keep, evaluate_secs, evaluate_steps, on_nan, jump
    )
    if arguments["validation_data"] is None:
        check_cadence("validation_data", settings, "give what to evaluate on.")
    numbers = Numbers(model)
    held = held_beside(model.optimizer, hyperparameters)
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
