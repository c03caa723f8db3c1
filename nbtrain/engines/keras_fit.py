"""Keras `fit` in the background."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from nbtrain.engines.keras_batch import BATCH_LOSS, EPOCH, BatchLoss
from nbtrain.engines.keras_data import Data, data_of
from nbtrain.engines.keras_place import FitSaver, History, Place
from nbtrain.errors import ArgumentError
from nbtrain.logdir import Logdir
from nbtrain.run import Run
from nbtrain.settings import Settings
from nbtrain.threads import Coordinator

class _Leave(Exception):  # noqa: N818 - no error: the way out of Keras's loop
    """The run was asked to stop, or is somewhere else in its data."""


class Steered(keras.callbacks.CallbackList):  # type: ignore[misc]
    """The callbacks of a fit, and after each batch the step boundary of its run.

    Args:
        run: The run.
        place: The place in the data.
        model: The model.
        callbacks: Those of the user.
        verbose: As in `fit`.
        epochs: As in `fit`.
    """

    def __init__(
        self,
        run: Run,
        place: Place,
        model: Any,
        callbacks: Sequence[Any],
        *,
        verbose: Any,
        epochs: int,
    ) -> None:
        self._run, self._place = run, place
        super().__init__(
            callbacks,
            add_history=True,
            add_progbar=verbose != 0,
            model=model,
            verbose=verbose,
            epochs=epochs,
            steps=place.data.steps,
        )
        self._loss = _Placed(model, place)

    def on_train_begin(self, logs: Any = None) -> None:
        self._loss.wrap()
        super().on_train_begin(logs)
        if not self._run.life.boundary.begun:
            self._ask()

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._loss.begin(epoch)
        super().on_epoch_begin(epoch, logs)

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        if batch >= self._place.batch:
            super().on_train_batch_begin(batch, logs)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        place, steps = self._place, self._place.data.steps
        done = batch + 1 if steps is None else min(batch + 1, steps)
        if done <= place.batch:
            return  # trained before
        super().on_train_batch_end(done - 1, logs)
        number = self._run.life.boundary.step + done - place.batch
        place.batch = done
        loss = self._loss.value
        self._run.record({} if loss is None else {BATCH_LOSS: loss}, step=number)
        if done != steps:  # the last one's boundary is at the end of the epoch
            self._ask()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        logs = pythonify(logs)
        super().on_epoch_end(epoch, logs)
        self._place.end_epoch(logs)
        self._run.life.host.add(None, {EPOCH + name: value for name, value in logs.items()})
        self._ask()

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        super().on_test_batch_end(batch, logs)
        if self._run.life.host.asked_to_stop():
            raise _Leave

    def close(self) -> None:
        """Leave the model as it was."""
        self._loss.remove()

    def _ask(self) -> None:
        if self._run.should_stop() or self._place.moved:
            raise _Leave


class _Placed(BatchLoss):
    """Trains the batches that are to come, and passes over those that were trained before."""

    def __init__(self, model: Any, place: Place) -> None:
        super().__init__(model)
        self._place = place
        self._passed = 0  # batches of the epoch at hand that were trained before

    def begin(self, epoch: int) -> None:
        """An epoch of Keras's begins."""
        self._passed = self._place.batch
        self._place.data.begin(epoch, self._passed)

    def _train(self, iterator: Any) -> Any:
        if self._passed > 0:
            for _ in range(self._model.steps_per_execution):
                self._place.data.pass_over(iterator)
                self._passed -= 1
            return {}
        self._place.data.draw_from(iterator)
        self._place.go_on()
        logs = super()._train(iterator)
        self._place.path = None
        return logs

    def _train_step(self, data: Any) -> Any:
        logs = super()._train_step(data)
        if not tf.executing_eagerly():  # traced: now the metrics have their variables
            with tf.init_scope():
                self._place.go_on_counting()
        return logs


class FitEngine:
    """Calls `model.fit`, again where a restore has gone back.

    Args:
        model: The compiled model.
        data: What it is fitted on.
        arguments: Further ones of `fit`.
        directory, keep: Of the checkpoints.
    """

    kind = "Keras fit"
    functions = ()

    def __init__(
        self,
        model: Any,
        data: Data,
        arguments: dict[str, Any],
        directory: Path,
        *,
        keep: int | None,
    ) -> None:
        self.coord = Coordinator()
        self.place = Place(model, data)
        self._model = model
        self._arguments = arguments
        self._directory = directory
        self._keep = keep

    def models(self) -> list[object]:
        """Everything that the model reaches."""
        return list(tf.train.TrackableView(self._model).descendants())

    @contextlib.contextmanager
    def session(self) -> Iterator[FitSaver]:
        """There is nothing to open but the saver."""
        yield FitSaver(self._model, self.place, self._directory, keep=self._keep)

    def train(self, run: Run) -> None:
        """Fit, from wherever the place is."""
        while self.place.epoch < self._arguments["epochs"]:
            self.place.moved = False
            if self.place.batch == self.place.data.steps:
                self.place.end_epoch({})  # its validation was not over, and is not made up for
                continue
            try:
                self._fit(run)
            except _Leave:
                if not self.place.moved:
                    return
            else:
                return

    def _fit(self, run: Run) -> None:
        arguments = {**self._arguments, **self.place.data.arguments}
        self.place.data.begin(self.place.epoch, self.place.batch)  # Keras draws a first batch
        callbacks = Steered(
            run,
            self.place,
            self._model,
            arguments.pop("callbacks"),
            verbose=arguments["verbose"],
            epochs=arguments["epochs"],
        )
        try:
            self._model.fit(**arguments, callbacks=callbacks, initial_epoch=self.place.epoch)
        finally:
            callbacks.close()


def pythonify(logs: Mapping[str, Any] | None) -> dict[str, float]:
    """The logs of an epoch as numbers."""
    return {name: float(value) for name, value in (logs or {}).items()}


class FitRun(Run):
    """A run of Keras `fit`."""

    @property
    def history(self) -> History:
        """What the epochs gave, as `fit(...).history` has it: name to a value for each."""
        engine: Any = self._engine
        return {name: list(values) for name, values in engine.place.history.items()}


def fit(
    model: Any,
    x: Any = None,
    y: Any = None,
    *,
    batch_size: int | None = None,
    epochs: int = 1,
    verbose: Any = 0,
    callbacks: Sequence[Any] = (),
    validation_data: Any = None,
    shuffle: bool = True,
    class_weight: Any = None,
    sample_weight: Any = None,
    steps_per_epoch: int | None = None,
    validation_steps: int | None = None,
    validation_batch_size: int | None = None,
    validation_freq: Any = 1,
    logdir: str | os.PathLike[str] | None = None,
    name: str | None = None,
    save_secs: float | None = 600.0,
    save_steps: int | None = None,
    keep: int | None = 5,
    start: bool = True,
) -> FitRun:
    """Fit a Keras model in the background, and return the run at once."""
    if not isinstance(model, keras.Model):
        raise ArgumentError(f"model={type(model).__name__} object: give a keras.Model.")
    data = data_of(
        x,
        y,
        sample_weight,
        batch_size=batch_size,
        shuffle=shuffle,
        steps_per_epoch=steps_per_epoch,
        class_weight=class_weight,
    )
    arguments = {
        "epochs": epochs,
        "verbose": verbose,
        "callbacks": list(callbacks),
        "validation_data": validation_data,
        "validation_steps": validation_steps,
        "validation_batch_size": validation_batch_size,
        "validation_freq": validation_freq,
    }
    total = epochs * data.steps if data.steps else None
    settings = Settings(total, save_secs, save_steps, keep)
    folder = Logdir(logdir, name, kind="fit")
    engine = FitEngine(model, data, arguments, folder.checkpoints, keep=keep)
    run = FitRun(engine, folder, settings)
    if start:
        run.start()
    return run
