"""Takes batches of a Keras fit for an experiment, by fits within the one that has asked.

The experiment begins at the position of the fit, and moves it. The user's callbacks and the
validation stay out: what callbacks set is set by the experiment.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import keras

from nbtrain.inner.keras import loss_tracker_of
from nbtrain.keras.data_position import DataPosition
from nbtrain.keras.fit_callbacks import StopFit
from nbtrain.keras.loss import EPOCH
from nbtrain.keras.resumed_loss import ResumedLoss
from nbtrain.run.why.experiment import Experiment


class ExperimentFit(keras.callbacks.CallbackList):
    """The callbacks of fits that take the batches of an experiment, which `StopFit` ends."""

    def __init__(
        self, experiment: Experiment, model: Any, position: DataPosition, loss: ResumedLoss
    ) -> None:
        super().__init__([], model=model)
        self._experiment, self._position, self._loss = experiment, position, loss
        self._around = contextlib.ExitStack()
        self._begun = 0

    def on_train_begin(self, logs: Any = None) -> None:
        """Observes the losses of the batches."""
        self._loss.wrap()

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Prepares the data of this epoch."""
        self._loss.begin(epoch)

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Begins a step of the experiment, unless the batch comes before its first."""
        self._begun = batch
        if batch >= self._position.batch:
            self._around.enter_context(self._experiment.step())

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Ends a step of the experiment."""
        self._around.close()
        count = self._position.trained(self._begun + self._loss.count)
        if count:
            self._experiment.took(self._scalars(count), count)
            if self._experiment.is_over or self._position.moved:
                raise StopFit

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Moves the position to the next epoch."""
        self._position.end_epoch({})
        if self._position.data.must_renew(self._position.epoch):
            raise StopFit

    def _scalars(self, count: int) -> Mapping[str, Any]:
        """The scalars of a batch; those of several show a bad loss of any of them."""
        tracker = loss_tracker_of(self.model)
        if count == 1 or tracker is None:
            return self._loss.scalars
        return {**self._loss.scalars, f"{EPOCH}{tracker.name}": tracker.result()}

    def close(self) -> None:
        """Ends a step that an error has left."""
        self._around.close()
