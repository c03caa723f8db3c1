"""Gets the scalars that a train step returns for each batch from the compiled step itself.

Keras's metrics return the mean since the epoch began. If the step updates a `keras.metrics.Mean`,
the batch's own value is recorded. For other metrics, the value of a single batch cannot be
separated, so their running value is recorded.

trackers = Trackers(model)
trackers.begin()               # before the step is called or traced: from here
trackers.scalars(logs)         # to here; {"batch_d_loss": tensor, "running_accuracy": tensor}
trackers.remove()
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import keras
import tensorflow as tf

from nbtrain.inner.keras import loss_tracker_of
from nbtrain.keras.replaced import replaced

# Prefixes of tags: the value of one batch, and a metric's value since the epoch began.
BATCH, RUNNING = "batch_", "running_"


class Trackers:
    """The metrics of a compiled model, observed until `remove`."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._seen = _Seen()
        # The loss tracker too, in case the user has overridden the property `metrics`.
        metrics = [*model.metrics, *filter(None, [loss_tracker_of(model)])]
        self._metrics = list({id(metric): metric for metric in metrics}.values())
        self._restores = [_observe(metric, self._seen) for metric in self._metrics]
        self._is_keras = has_keras_step(model)

    def remove(self) -> None:
        """Restores the metrics' methods."""
        for restore in self._restores:
            restore()

    def begin(self) -> None:
        """Observes the metrics until `scalars`: values at other times belong to no batch."""
        self._seen.forget(within=True)

    def scalars(self, logs: Any) -> dict[str, Any]:
        """Returns the scalars of the batch, from a step with these logs: float32, of shape ().

        For Keras's own step, these are only the loss: its metrics are recorded once an epoch.
        """
        try:
            if self._is_keras:
                loss = self._own_value(loss_tracker_of(self._model))
                return {} if loss is None else {f"{BATCH}loss": loss}
            return dict(self._tagged(name, value) for name, value in _scalars(logs))
        finally:
            self._seen.forget(within=False)

    def _tagged(self, name: str, value: Any) -> tuple[str, Any]:
        metric = self._seen.results.get(id(value), (None,))[0] or self._updated(name)
        own = value if metric is None else self._own_value(metric)
        kind, value = (RUNNING, value) if own is None else (BATCH, own)
        return kind + name, tf.cast(value, tf.float32)

    def _updated(self, name: str) -> Any:
        """Returns the metric of this name that the step has updated; None if there is none."""
        given = self._seen.given
        return next((m for m in self._metrics if m.name == name and id(m) in given), None)

    def _own_value(self, metric: Any) -> Any:
        """Returns the mean of the values that a metric received; None if unknown."""
        given = self._seen.given.get(id(metric), [])
        means = [_mean(*each) for each in given]
        if not means or any(mean is None for mean in means):
            return None
        return tf.add_n(means) / len(means) if len(means) > 1 else means[0]


def has_keras_step(model: Any) -> bool:
    """Returns whether a model is trained by Keras's `train_step` and not by the user's own."""
    return getattr(model.train_step, "__func__", None) is keras.Model.train_step


class _Seen(threading.local):
    """The calls of metrics within one step; each replica traces the step in its own thread.

    Attributes:
        within: Whether a step is running.
        given: Identity of a metric to the values and weights that it received.
        results: Identity of a result to the metric and the result, which keeps the identity valid.
    """

    def __init__(self) -> None:
        self.forget(within=False)

    def forget(self, *, within: bool) -> None:
        """Clears what was seen when a step begins or ends."""
        self.within = within
        self.given: dict[int, list[tuple[Any, Any]]] = {}
        self.results: dict[int, tuple[Any, Any]] = {}


def _observe(metric: Any, seen: _Seen) -> Callable[[], None]:
    """Observes the inputs and results of a metric until the returned function is called."""
    update, result = metric.update_state, metric.result
    takes_values = type(metric).update_state is keras.metrics.Mean.update_state

    @functools.wraps(update)
    def update_state(*args: Any, **kwargs: Any) -> Any:
        if seen.within:
            given = _values(*args, **kwargs) if takes_values else (None, None)
            seen.given.setdefault(id(metric), []).append(given)
        return update(*args, **kwargs)

    @functools.wraps(result)
    def result_of(*args: Any, **kwargs: Any) -> Any:
        found = result(*args, **kwargs)
        for each in tf.nest.flatten(found) if seen.within else ():
            seen.results[id(each)] = (metric, each)
        return found

    return replaced(metric, update_state=update_state, result=result_of)


def _values(values: Any, sample_weight: Any = None) -> tuple[Any, Any]:
    """Returns the arguments of `keras.metrics.Mean.update_state`."""
    return values, sample_weight


def _mean(values: Any, weights: Any) -> Any:
    """Computes the mean as `keras.metrics.Mean` does; None if the step cannot return the values."""
    if values is None or not (_is_here(values) and (weights is None or _is_here(weights))):
        return None
    values = tf.cast(values, tf.float32)
    if values.shape.rank == 0:  # a weight counts only among several batches
        return values
    if weights is None:
        return tf.reduce_mean(values)
    weights = tf.cast(weights, tf.float32)
    if values.shape.rank != weights.shape.rank:
        return None
    return tf.math.divide_no_nan(
        tf.reduce_sum(values * weights), tf.reduce_sum(tf.broadcast_to(weights, tf.shape(values)))
    )


def _is_here(value: Any) -> bool:
    """Returns whether the step can return a value: no loop, branch or inner function made it."""
    if not (isinstance(value, tf.Tensor) and tf.is_symbolic_tensor(value)):
        return True
    return not tf.executing_eagerly() and value.graph is tf.compat.v1.get_default_graph()


def _scalars(logs: Any) -> Iterator[tuple[str, Any]]:
    """Yields the numbers of shape () in logs, including nested dicts, by name."""
    for name, value in logs.items() if isinstance(logs, Mapping) else ():
        if isinstance(value, Mapping):
            yield from _scalars(value)
            continue
        dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", ())
        kind = None if dtype is None else tf.as_dtype(dtype)
        is_real = kind is not None and (kind.is_floating or kind.is_integer or kind.is_bool)
        if (is_real or isinstance(value, (int, float))) and tf.TensorShape(shape).rank == 0:
            yield str(name), value
