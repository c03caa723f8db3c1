"""A callback that makes the user's own Keras `fit` the training of a run."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

import keras

from nbtrain.core.errors import ArgumentError
from nbtrain.engines.keras_layers import describing
from nbtrain.engines.object_saver import ObjectSaver
from nbtrain.inner.keras import begin_at_epoch
from nbtrain.keras.building import build
from nbtrain.keras.fit_validation import FitValidation, is_of_training
from nbtrain.keras.guard import Guard
from nbtrain.keras.loss import EPOCH, BatchLoss
from nbtrain.run.beside.time_usage import EVALUATE, LOOP
from nbtrain.run.run import Run


class RunCallback(keras.callbacks.Callback):
    """Makes the user's own `model.fit` the training of a run.

    For `fit` inside `@nbtrain.background` or `%%nbtrain`. The end of each batch is a step boundary,
    at which the run saves, pauses and stops; with `steps_per_execution`, the end of each execution.
    A batch is recorded with its own loss, `batch_loss`, or with all scalars that the user's own
    `train_step` returns, as in `nbtrain.fit`. The logs of an epoch are recorded at its last step as
    `epoch_loss`, `epoch_val_loss` etc. The loop itself decides where it continues after a stop or
    restore; `nbtrain.fit` continues with the exact batch.

    A stop ends the fit at once. An epoch or a validation that the stop cuts short is not recorded;
    other callbacks get NaN as the values of such a validation. If the run ends by its `steps`, the
    validation is complete. A further fit trains no epoch and returns an empty history.

    Args:
        run: The run. `fit` is called in its training thread, once or several times.

    Raises:
        ArgumentError: `run` is not a run; or `fit` is called in another thread than its training
            thread.

    Example:
        >>> @nbtrain.background(checkpoint=tf.train.Checkpoint(model=model))
        ... def digits(run):
        ...     model.fit(x, y, epochs=5, verbose=0, callbacks=[nbtrain.RunCallback(run)])
    """

    def __init__(self, run: Run) -> None:
        super().__init__()
        if not isinstance(run, Run):
            raise ArgumentError(
                f"run={type(run).__name__} object: give the run that the loop of "
                "@nbtrain.background is called with."
            )
        self._run = run
        self._put_back = contextlib.ExitStack()  # restores the model's methods
        self._begun = self._done = 0
        self._cut = False  # the fit ends within the epoch

    def set_model(self, model: Any) -> None:
        """Prepares the model, before Keras makes the train function."""
        super().set_model(model)
        if not self._run.trains_here():
            raise ArgumentError(
                f"RunCallback of the run {self._run.name!r} was given to a fit in another thread "
                "than its training thread: call fit in the loop of @nbtrain.background or in a "
                "cell under %%nbtrain, or use nbtrain.fit(model, ...)."
            )
        self._run.attempt.model_graph.set(*describing({model.name: model}))
        self._put_back.close()
        self._steps = self._run.handle.steps
        self._loss = BatchLoss(model)
        self._put_back.callback(self._loss.remove)
        self._validation = FitValidation(model, self._run.handle.host.asked_to_stop)
        self._put_back.callback(self._validation.remove)
        guard = Guard(model, self._run.name, self._run.__repr__)
        self._put_back.callback(guard.remove)
        guard.set()
        self._run.handle.host.at_end(self._put_back.close)  # in case an error ends fit
        if isinstance(saver := self._run.handle.saver, ObjectSaver):
            # Keras resets the metrics; the batch that has created them could not be repeated.
            saver.restores.resets_metrics = True
        self._run.handle.time_usage.waits = None  # fit draws the batches in its compiled step

    def on_train_begin(self, logs: Any = None) -> None:
        """Acts at the first boundary of the run, or of a fit that follows another."""
        self._run.handle.time_usage.switch_to(LOOP)  # an error may have ended a validation
        self._loss.wrap()
        if not self.model.run_eagerly:
            self._loss.watch(self._run.handle)
        if not self._run.handle.counts and self._ask():
            # Keras begins with this epoch, which is beyond the last one, so nothing is trained.
            self._put_back.callback(begin_at_epoch, self.model, None)
            begin_at_epoch(self.model, sys.maxsize)
        if self._run.handle.waits and self._loss.has_keras_step:
            self._train = self.model.train_function
            self.model.train_function = self._train_first

    def _train_first(self, iterator: Any) -> Any:
        """Builds the model for the first batch and restores its values, then trains the batch."""
        self.model.train_function = self._train
        build(self.model, lambda: iterator.element_spec)
        self._run.handle.complete_restore()
        return self._train(iterator)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Starts to count the batches of an epoch."""
        self._done, self._cut = 0, False

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Notes the first batch of an execution."""
        self._begun = batch

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Records the batches of an execution, and acts at the step boundary."""
        done, steps = self._begun + self._loss.count, self.params.get("steps")
        done = done if steps is None else min(done, steps)
        count, self._done = done - self._done, done
        if count == 1:
            self._run.record(self._loss.scalars)
        else:
            self._run.handle.record_execution(self._loss.scalars, count)
        if self._begun == 0:
            self._run.handle.note("batch", self._loss.lacks)
        self._cut = self._ask() and done != steps

    def on_test_begin(self, logs: Any = None) -> None:
        """Measures the time of the validation from now on."""
        self._run.handle.time_usage.switch_to(EVALUATE)

    def on_test_end(self, logs: Any = None) -> None:
        """Measures the time of the training from now on."""
        self._run.handle.time_usage.switch_to(LOOP)

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        """Checks for a stop after a batch of the validation."""
        if self._run.handle.host.asked_to_stop():
            self.model.stop_evaluating = True

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Records the logs of the epoch, without values of only a part of it."""
        if self._run.handle.host.asked_to_stop():  # since its last boundary
            self.model.stop_training = True
        scalars = {
            EPOCH + name: value
            for name, value in (logs or {}).items()
            if name not in self._validation.lost and not (self._cut and is_of_training(name))
        }
        self._run.handle.host.add(None, scalars)

    def on_train_end(self, logs: Any = None) -> None:
        """Restores the model's methods; from now on a loop around the fit counts steps."""
        self._put_back.close()
        self._run.handle.end()

    def _ask(self) -> bool:
        """Acts at the step boundary; returns whether the fit must end."""
        steps = self._steps
        step, ends = steps.step, self._run.should_stop()
        if ends:
            self.model.stop_training = True
        # Abandoned values, such as NaN, do not belong in an epoch's means.
        if steps.step < step:
            self.model.reset_metrics()
        return ends
