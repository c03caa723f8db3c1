"""Trains a Keras model by calls of its `fit`."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf
from keras.callbacks import TensorBoard

from nbtrain.checkpoints.files import Restored, listed
from nbtrain.core.epoch import Epoch
from nbtrain.core.errors import ArgumentError
from nbtrain.core.values.hyperparameters import Variable
from nbtrain.engines.keras_layers import described
from nbtrain.engines.object_saver import ObjectSaver, roots_of
from nbtrain.engines.trained import Trained
from nbtrain.inner.keras import is_validated_after
from nbtrain.keras.building import build, has_keras_fit
from nbtrain.keras.callback_state import CallbackState
from nbtrain.keras.data.data import Data
from nbtrain.keras.data_position import DataPosition
from nbtrain.keras.experiment_fit import ExperimentFit
from nbtrain.keras.fit_callbacks import FitCallbacks, StopFit
from nbtrain.keras.guard import Guard
from nbtrain.keras.python_scalars import PythonScalars
from nbtrain.keras.resumed_loss import ResumedLoss
from nbtrain.keras.trackers import has_keras_step
from nbtrain.keras.validation import StoppedError, Validation
from nbtrain.run.handle import LoopHandle
from nbtrain.run.run import Run
from nbtrain.run.thread.threads import Coordinator
from nbtrain.run.why.experiment import Experiment
from nbtrain.rundir.folder import Logdir


class FitSaver(ObjectSaver):
    """Saves and restores a fit; its position contains the metrics, which Keras creates late."""

    leave_out = (keras.metrics.Metric,)
    _position: DataPosition

    def restore(self, path: str) -> Restored:
        """Restores the variables and the position; in a new stage, callbacks start fresh."""
        restored = super().restore(path)
        if restored.stage is not None:
            self._position.memory.restore({}, [])
        return restored

    def besides(self) -> list[tf.Variable]:
        """Returns the metrics too, which a checkpoint has only within an epoch."""
        return [*super().besides(), *self._position.metrics]

    def _remedy(self, names: Iterable[str]) -> str:
        model = roots_of(self._checkpoint)["model"]
        lines = [f"self.{f'{name}_2' if hasattr(model, name) else name} = {name}" for name in names]
        return f"Keep them in the model, in its __init__: {'; '.join(lines)}"


class FitEngine:
    """Calls `model.fit`, and again each time that a restore has gone back.

    Args:
        arguments: Arguments of `fit` apart from the data.
        keep: How many checkpoints to keep; None keeps all.
        stage: The name of the stage of the training, as in `ObjectSaver`.
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
        numbers: PythonScalars,
        stage: str | None = None,
    ) -> None:
        self.coord = Coordinator()
        self.hyperparameters = hyperparameters
        memory = CallbackState(arguments["callbacks"])
        self.position = DataPosition(model, data, arguments["initial_epoch"], numbers, memory)
        self.guard = Guard(model, folder.name)
        self._model, self._has_keras_fit = model, has_keras_fit(model)
        self._arguments = arguments
        self._folder, self._keep, self._stage = folder, keep, stage
        self._loss: ResumedLoss | None = None
        self._trained = Trained(self._steps)
        self.evaluate: Validation | None = None
        if arguments["validation_data"] is not None:
            self.evaluate = Validation(
                model,
                arguments["validation_data"],
                self.coord.should_stop,
                steps=arguments["validation_steps"],
                batch_size=arguments["validation_batch_size"],
            )

    @property
    def epochs(self) -> int:
        """The epochs to train, counted over all starts of the run."""
        return int(self._arguments["epochs"])

    @property
    def epoch(self) -> Epoch:
        """The current epoch; the last one once all are over."""
        number = min(self.position.epoch + 1, self.epochs)
        data = self.position.data
        return Epoch(number, self.epochs, data.began, data.steps)

    @property
    def total_steps(self) -> int | None:
        """The batches of all epochs; None while the length of an epoch is unknown."""
        first: int = self._arguments["initial_epoch"]
        return self.position.data.steps_before(max(self.epochs, first))

    @property
    def resumes(self) -> Path | None:
        """The folder of its checkpoints."""
        return self._folder.checkpoints

    def models(self) -> list[object]:
        """Returns all objects that the model reaches."""
        return list(tf.train.TrackableView(self._model).descendants())

    def roots(self) -> list[object]:
        """Returns the model and its optimizer."""
        return [self._model, self._model.optimizer]

    def branched(self, folder: Logdir) -> FitEngine:
        """Returns the same fit in another folder, with its own position in the same data."""
        return FitEngine(
            self._model,
            self.position.data,
            self._arguments,
            folder,
            keep=self._keep,
            hyperparameters=self.hyperparameters,
            numbers=self.position.numbers,
            stage=self._stage,
        )

    @contextlib.contextmanager
    def session(self) -> Iterator[FitSaver]:
        """Builds all variables of the model, guards it, and opens the saver."""
        self.guard.set()
        try:
            self._build()
            yield FitSaver(
                tf.train.Checkpoint(model=self._model, fit=self.position.fit),
                self._folder.checkpoints,
                keep=self._keep,
                position=self.position,
                origin=self.origin,
                trained=self._trained,
                stage=self._stage,
            )
        finally:
            self.guard.remove()

    def train(self, run: Run) -> None:
        """Fits from the current position."""
        position, loop = self.position, run.handle
        if position.epoch < self.epochs:
            position.data.began = loop.step - position.batch
        if (why := self._why_over(loop)) is not None:
            loop.note("epochs", f"{why}, or another name= to start from scratch.")
            run.should_stop()
            return
        run.attempt.model_graph.set(functools.partial(described, self._model))
        self._loss = loss = ResumedLoss(self._model, position)
        loop.host.at_end(loss.remove)
        if not self._model.run_eagerly:
            loss.watch(loop)
        fit_callbacks = FitCallbacks(
            run,
            position,
            loss,
            self._arguments["callbacks"],
            self._model,
            self.hyperparameters,
            verbose=self._arguments["verbose"],
            epochs=self.epochs,
            steps=position.data.given,
        )
        boards = [each for each in fit_callbacks.callbacks if isinstance(each, TensorBoard)]
        if not boards:  # which have writers of their own
            # Until the callbacks have ended.
            loop.host.left_open.enter_context(loop.summaries())
        take = functools.partial(self._take, loss)
        with loop.taken_by(take, data=lambda: position.data.origin):
            while True:
                self._fit(loop, fit_callbacks)
                ends = position.epoch >= self.epochs or not position.moved
                if ends or loop.host.asked_to_stop():
                    break
        loop.host.at_end(lambda: self._end(fit_callbacks))
        if (
            self._model.stop_training
            and position.epoch < self.epochs
            and not loop.host.asked_to_stop()
        ):
            who = position.memory.stopper or "A callback"
            loop.inform(
                f"{who} has ended the training after {position.epoch:,} of {self.epochs:,} epochs."
            )

    def _steps(self) -> list[object]:
        """Returns the user's own `train_step`, if there is one, and its traces."""
        step = type(self._model).train_step
        if step is keras.Model.train_step:
            return []
        return [step, *(self._loss.traced if self._loss is not None else ())]

    def _why_over(self, loop: LoopHandle) -> str | None:
        """Returns why nothing is left to train, and how to train more; None if epochs are left."""
        position = self.position
        if position.epoch >= self.epochs > self._arguments["initial_epoch"]:
            return (
                f"{position.epoch:,} of {self.epochs:,} epochs are over: there is nothing left to "
                "train. Give more epochs="
            )
        stopping = None if position.batch else position.memory.ended(position.epoch)
        begins = self.origin is not None and not listed(self._folder.checkpoints)
        if stopping is None or begins:  # a branch was asked to continue
            return None
        stopping.set_model(self._model)
        loop.host.at_end(stopping.on_train_end)  # it may have the best weights
        return (
            f"EarlyStopping has ended the training after {position.epoch:,} of {self.epochs:,} "
            "epochs: there is nothing left to train. Give it more patience=, or leave it out"
        )

    def _build(self) -> None:
        """Creates the variables that a checkpoint will set, which Keras creates at the first batch.

        They are created from the types of a batch, so no layer computes anything. The user's own
        `train_step` or `fit` may call the model with other inputs than a batch of the data: then
        the first batch creates the variables, as in Keras. The same holds if the model cannot be
        built.
        """
        model = self._model
        if not has_keras_step(model) or not self._has_keras_fit:
            return
        build(model, self.position.data.spec)

    def _fit(self, loop: LoopHandle, fit_callbacks: FitCallbacks) -> None:
        """Calls Keras's fit once; interrupts it if the run stops or its position has moved."""
        position, model = self.position, self._model
        position.moved = False
        if position.batch and position.batch == position.data.steps_of(position.epoch):
            model.stop_training = False
            try:
                self._end_epoch(loop, fit_callbacks)
            except (StoppedError, StopFit):
                loop.note("evaluating", None)
                return
            if model.stop_training:
                return
        data = position.begin_fit()
        loop.note("position", position.note)
        loop.note("numbers", position.numbers.note)
        try:
            self._call(data, fit_callbacks)
        finally:
            loop.note("evaluating", None)
            fit_callbacks.count_current()

    def _call(
        self, data: Mapping[str, Any], callbacks: keras.callbacks.CallbackList, **other: Any
    ) -> None:
        """Calls Keras's fit from the current position; `StopFit` ends it.

        Args:
            data: The data arguments for this call.
            other: Arguments that differ from those of the run.
        """
        position, model = self.position, self._model
        given = {**self._arguments, "initial_epoch": position.epoch, **data, **other}
        try:
            model.fit(**{**given, "callbacks": callbacks})
        except StopFit:
            vars(model).pop("_eval_epoch_iterator", None)  # Keras's iterator of its validation
        finally:
            position.data.end_fit()

    def _take(self, loss: ResumedLoss, experiment: Experiment) -> None:
        """Takes the batches of an experiment, from the current position, by fits of their own."""
        position, model = self.position, self._model
        stops = model.stop_training
        callbacks = ExperimentFit(experiment, model, position, loss)
        try:
            while not experiment.is_over:
                position.moved = False
                if position.batch and position.batch == position.data.steps_of(position.epoch):
                    position.end_epoch({})
                try:
                    self._call(
                        position.begin_fit(),
                        callbacks,
                        epochs=sys.maxsize,
                        validation_data=None,
                        verbose=0,
                    )
                except Exception as error:  # noqa: BLE001 - raised unless the question allows for it
                    callbacks.end_step()
                    experiment.failed(error)
        finally:
            callbacks.close()
            model.stop_training = stops

    def _end_epoch(self, loop: LoopHandle, fit_callbacks: FitCallbacks) -> None:
        """Ends an epoch that was interrupted during its validation, which starts over.

        Raises:
            StopFit: The callbacks have interrupted the epoch again.
        """
        position = self.position
        fit_callbacks.begin()
        fit_callbacks.begin_epoch(position.epoch)
        due = is_validated_after(self._model, position.epoch, self._arguments["validation_freq"])
        if self.evaluate is not None and due:
            try:
                found = self.evaluate(fit_callbacks)
                position.logs |= {f"val_{name}": value for name, value in found.items()}
            except ArgumentError as error:  # a generator continues in later epochs
                loop.note("validation", f"Epoch {position.epoch + 1} has no validation: {error}")
        fit_callbacks.on_epoch_end(position.epoch, position.logs)

    def _end(self, fit_callbacks: FitCallbacks) -> None:
        """Ends a fit as Keras does, even if it was interrupted; callbacks may set weights."""
        if not fit_callbacks.begun:
            return
        if isinstance(self._model.optimizer, keras.optimizers.Optimizer):
            self._model.optimizer.finalize_variable_values(self._model.trainable_weights)
        fit_callbacks.on_train_end()
