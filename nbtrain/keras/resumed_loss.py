"""The step of a Keras fit that continues within an epoch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from nbtrain.engines.data.iterators import ended_apart
from nbtrain.keras.data_position import DataPosition
from nbtrain.keras.loss import BatchLoss


class ResumedLoss(BatchLoss):
    """Trains the batches to come, and skips those that were trained before.

    Attributes:
        before: The logs of an epoch whose batches were all trained before.
        take: Trains the next batches of an iterator; an experiment exchanges it for `next`.
    """

    def __init__(self, model: Any, position: DataPosition) -> None:
        super().__init__(model, counts=not position.data.has_known_end)
        self._position = position
        self._passed = 0  # batches of the current epoch that were trained before
        self._begins = False  # no batch of the epoch has been drawn
        self._is_first = True  # no batch of the epoch was trained in this start
        self.before: dict[str, Any] = {}
        self.take: Callable[[Any], Any] = self.next

    def begin(self, epoch: int) -> None:
        """Begins an epoch of Keras's."""
        self._passed, self._begins, self._is_first = self._position.batch, True, True
        self.before = {}
        self._position.data.begin(epoch, self._passed)
        self._position.data.enter_epoch()

    def _train(self, iterator: Any) -> Any:
        position = self._position
        if self._begins:
            ended_apart(iterator)
            self._begins = False
        if self._passed > 0:
            self.count = min(self._size, self._passed)
            for _ in range(self.count):
                position.data.skip(iterator)
            self._passed -= self.count
            return {}
        self.count = self._size
        iterator = position.data.draw_from(iterator, self._size)
        try:
            return self.take(iterator)
        except (StopIteration, tf.errors.OutOfRangeError):
            position.data.run_out()
            raise

    def next(self, iterator: Any) -> Any:
        """Trains the next batches of an iterator."""
        position = self._position
        if not self._is_first:
            return super()._train(iterator)
        position.apply_restored()
        try:
            return super()._train(iterator)
        except (StopIteration, tf.errors.OutOfRangeError):  # all batches were trained before
            self.before = position.logs or numbers(self._model.get_metrics_result())
            raise
        finally:
            position.end_restore()
            self._is_first = False

    def _train_step(self, data: Any) -> Any:
        logs = super()._train_step(data)
        if not tf.executing_eagerly():  # traced: now the metrics have their variables
            with tf.init_scope():
                self._position.apply_restored()
        return logs


def numbers(logs: Mapping[str, Any] | None) -> dict[str, Any]:
    """Flattens the logs of an epoch to floats, and arrays if a metric returns one."""
    found: dict[str, Any] = {}
    for name, value in (logs or {}).items():
        if isinstance(value, Mapping):
            found.update(numbers(value))
        else:
            array = np.asarray(value)
            found[name] = float(array) if array.ndim == 0 else array
    return found
