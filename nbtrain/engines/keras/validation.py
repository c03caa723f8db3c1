"""Evaluates a Keras model between two batches of its training."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import keras

from nbtrain.core.errors import ArgumentError, PhaseError


class StoppedError(PhaseError):
    """The run was asked to stop during an evaluation."""


class Validation:
    """Evaluates a model on its validation data; training thread only.

    Args:
        asked_to_stop: Tells if the run was asked to stop, which ends an evaluation.
        arguments: Further arguments of `evaluate`.
    """

    def __init__(
        self, model: Any, data: Any, asked_to_stop: Callable[[], bool], **arguments: Any
    ) -> None:
        self._model, self._data, self._arguments = model, data, arguments
        self._asked_to_stop = asked_to_stop

    def __call__(self) -> dict[str, float]:
        """Returns loss and metrics by name, as in `model.evaluate`.

        Raises:
            ArgumentError: The data are a generator, which can be drawn from only once.
            StoppedError: The run was asked to stop meanwhile.
        """
        if isinstance(self._data, Iterator):
            raise ArgumentError(
                f"validation_data={type(self._data).__name__} object: it can be drawn but once, by "
                "the epochs; give arrays, a tf.data.Dataset or a keras.utils.PyDataset."
            )
        x, y, weights = keras.utils.unpack_x_y_sample_weight(self._data)
        with self._metrics_kept():
            logs = self._model.evaluate(
                x,
                y,
                sample_weight=weights,
                verbose=0,
                callbacks=[_Stop(self._asked_to_stop)],
                return_dict=True,
                **self._arguments,
            )
        if self._asked_to_stop():
            raise StoppedError("The run was asked to stop before the evaluation was over.")
        return {name: value for name, value in logs.items() if isinstance(value, float)}

    @contextlib.contextmanager
    def _metrics_kept(self) -> Iterator[None]:
        """Preserves the metrics of the epoch's training, which evaluating updates too."""
        metrics = [variable for metric in self._model.metrics for variable in metric.variables]
        values = [variable.numpy() for variable in metrics]
        try:
            yield
        finally:
            for variable, value in zip(metrics, values, strict=True):
                variable.assign(value)


class _Stop(keras.callbacks.Callback):
    """Ends an evaluation when the run was asked to stop."""

    def __init__(self, asked: Callable[[], bool]) -> None:
        super().__init__()
        self._asked = asked

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        """Checks for a stop after a batch."""
        if self._asked():
            self.model.stop_evaluating = True
