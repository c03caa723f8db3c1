"""Takes batches of a Keras fit for an experiment, by fits within the one that has asked.

The experiment begins at the position of the fit, and moves it. The user's callbacks and the
validation stay out: what callbacks set is set by the experiment.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Mapping
from typing import Any

import keras
import tensorflow as tf

from nbtrain.core.errors import PhaseError
from nbtrain.inner.keras import loss_tracker_of
from nbtrain.keras.data_position import DataPosition
from nbtrain.keras.fit_callbacks import StopFit
from nbtrain.keras.loss import EPOCH
from nbtrain.keras.resumed_loss import ResumedLoss
from nbtrain.run.why.experiment import Experiment, StepPart, halved


class ExperimentFit(keras.callbacks.CallbackList):
    """The callbacks of fits that take the batches of an experiment, which `StopFit` ends."""

    def __init__(
        self, experiment: Experiment, model: Any, position: DataPosition, loss: ResumedLoss
    ) -> None:
        super().__init__([], model=model)
        self._experiment, self._position, self._loss = experiment, position, loss
        self._around = contextlib.ExitStack()
        self._begun = 0
        self._held: Any = None  # an iterator of one batch
        self._held_for: StepPart | None = None

    def on_train_begin(self, logs: Any = None) -> None:
        """Observes the losses of the batches."""
        self._loss.wrap()
        self._loss.take = self._part

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Prepares the data of this epoch."""
        self._loss.begin(epoch)
        self._experiment.began_pass()

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

    def _part(self, iterator: Any) -> Any:
        """Takes the wanted part of the next batches of an iterator."""
        part = self._experiment.part
        if part is StepPart.INPUT:
            # The last execution of a pass may have fewer batches.
            self._loss.count = sum(1 for _ in itertools.islice(iterator, self._loss.count))
            if not self._loss.count:
                raise StopIteration
            return {}
        if part is StepPart.WHOLE:
            return self._loss.next(iterator)
        if part is not self._held_for:
            self._held, self._held_for = _holding(iterator, halves=part is StepPart.HALF), part
        return self._loss.next(self._held)

    def end_step(self) -> None:
        """Ends a step that an error has left."""
        self._around.close()

    def close(self) -> None:
        """Ends the observation of the losses, after the last step."""
        self.end_step()
        self._loss.take = self._loss.next


def _holding(iterator: Any, *, halves: bool) -> Any:
    """Returns an iterator that gives the next batch of another one again and again.

    Its elements have the same types, also where a batch has the number of its rows and the types
    have none: otherwise the step would be traced once more.

    Args:
        iterator: The other iterator.
        halves: Whether to give the first half of the rows alone.

    Raises:
        PhaseError: The batches are distributed to several replicas, or have no rows.
    """
    spec = iterator.element_spec
    if not isinstance(iterator, tf.data.Iterator):
        raise PhaseError(
            "The batches go to the replicas of a strategy, so one cannot be trained again: "
            "why_slow measures models without a strategy."
        )
    batch = next(iterator)
    if halves and (batch := halved(batch)) is None:
        raise PhaseError("A batch has no rows.")
    parts = tf.nest.flatten(batch, expand_composites=True)
    kinds = tf.nest.flatten(spec, expand_composites=True)

    def widened(*batch: Any) -> Any:
        wide = [
            tf.raw_ops.PlaceholderWithDefault(
                input=part,
                shape=kind.shape if part.shape.is_compatible_with(kind.shape) else part.shape,
            )
            for part, kind in zip(batch, kinds, strict=True)
        ]
        return tf.nest.pack_sequence_as(spec, wide, expand_composites=True)

    held = tf.data.Dataset.from_tensors(tuple(parts)).repeat().map(widened)
    return iter(held.prefetch(1))
