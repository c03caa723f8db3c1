"""Reads from a model's metrics whether a higher or a lower value is better, as Keras does.

Keras's own callbacks (`MonitorCallback`, Keras 3.15) read a metric's `_direction`, "up" or
"down". Metrics without this attribute, such as a `keras.metrics.Mean`, have no direction.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import keras
import tensorflow as tf

from nbtrain.core.values.direction import Direction
from nbtrain.inner.keras import direction_of, metrics_given_to

_WORDS = {"up": Direction.HIGHEST, "down": Direction.LOWEST}


def metric_directions(model: Any) -> dict[str, Direction]:
    """Returns the directions of a model's metrics by their names in its logs.

    The model may be compiled without being built. Keras resolves the arguments of `compile` at the
    first batch only, so they are read as they were given. If a later Keras keeps them elsewhere,
    fewer directions are known, and the user must give them.
    """
    outputs = getattr(model, "output_names", None) or ()
    beginnings = [f"{output}_" for output in outputs] if len(outputs) > 1 else [""]
    own = [metric for metric in model.metrics if isinstance(metric, keras.metrics.Metric)]
    found: dict[str, set[Direction]] = {}
    for name, metric in [*_given(model), *((metric.name, metric) for metric in own)]:
        if (direction := _direction(metric)) is not None:
            for beginning in beginnings:
                found.setdefault(beginning + name, set()).add(direction)
    return {tag: known.pop() for tag, known in found.items() if len(known) == 1}


def _given(model: Any) -> Iterator[tuple[str, object]]:
    """Yields the metrics given to `compile`: objects, names and functions of Keras."""
    given, weighted = metrics_given_to(model)
    names = set[str]()
    for name, metric in _named(given):
        names.add(name)
        yield name, metric
    for name, metric in _named(weighted):
        yield (f"weighted_{name}" if name in names else name), metric


def _named(metrics: object) -> Iterator[tuple[str, object]]:
    for metric in tf.nest.flatten(metrics):
        name = metric if isinstance(metric, str) else getattr(metric, "name", None)
        name = name or getattr(metric, "__name__", None)
        if isinstance(name, str):
            yield name, metric


def _direction(metric: object) -> Direction | None:
    if isinstance(metric, str):
        # With a given name: otherwise Keras would number the user's next metric of this class.
        with contextlib.suppress(Exception):
            metric = keras.metrics.get({"class_name": metric, "config": {"name": metric}})
    if isinstance(metric, keras.metrics.Metric):
        return _WORDS.get(direction_of(metric))
    losses = [*vars(keras.losses).values()]
    return Direction.LOWEST if metric in losses or type(metric) in losses else None
