"""Evaluates a Keras model between two batches of its training."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import keras

from nbtrain.core.errors import ArgumentError, PhaseError
from nbtrain.engines.named_variables import survey
from nbtrain.inner.keras import layers_of, trainable_of
from nbtrain.inner.variables import handles


class StoppedError(PhaseError):
    """The run was asked to stop during an evaluation."""


class Validation:
    """Evaluates a model on its validation data; training thread only.

    Args:
        asked_to_stop: Returns whether the run was asked to stop, which ends an evaluation.
        arguments: Further arguments of `evaluate`.
    """

    def __init__(
        self, model: Any, data: Any, asked_to_stop: Callable[[], bool], **arguments: Any
    ) -> None:
        self._model, self._data, self._arguments = model, data, arguments
        self._asked_to_stop = asked_to_stop

    def __call__(self, callbacks: Any = None) -> dict[str, float]:
        """Returns loss and metrics by name, as in `model.evaluate`.

        Args:
            callbacks: The `CallbackList` of the fit if this is the validation of an epoch; None to
                call no callbacks of the user.

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
        # In the validation of an epoch, Keras lets the states of layers change.
        with self._preserving(states=callbacks is None):
            logs = self._model.evaluate(
                x,
                y,
                sample_weight=weights,
                verbose=0,
                callbacks=callbacks or [_Stop(self._asked_to_stop)],
                return_dict=True,
                **self._arguments,
            )
        if self._asked_to_stop():
            raise StoppedError("The run was asked to stop before the evaluation was over.")
        return {name: value for name, value in logs.items() if isinstance(value, float)}

    @contextlib.contextmanager
    def _preserving(self, *, states: bool) -> Iterator[None]:
        """Preserves the metrics of the epoch's training, which evaluating updates too.

        Args:
            states: Whether to preserve the states of layers as well.
        """
        metrics = [variable for metric in self._model.metrics for variable in metric.variables]
        values = [(variable, variable.numpy()) for variable in metrics]
        values += states_of(self._model) if states else []
        try:
            yield
        finally:
            for variable, value in values:
                variable.assign(value)


def states_of(model: Any) -> list[tuple[Any, Any]]:
    """Returns the variables that are no weights, such as recurrent states, with their values."""
    kinds = keras.metrics.Metric, keras.optimizers.Optimizer
    found = survey({"model": model}, kinds).variables.values()
    weights = {
        handle
        for layer in layers_of(model)
        for weight in trainable_of(layer)
        for handle in handles(weight)
    }
    return [(each, each.numpy()) for each in found if weights.isdisjoint(handles(each))]


class _Stop(keras.callbacks.Callback):
    """Ends an evaluation once the run was asked to stop."""

    def __init__(self, asked: Callable[[], bool]) -> None:
        super().__init__()
        self._asked = asked

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        """Checks for a stop after a batch."""
        if self._asked():
            self.model.stop_evaluating = True
