"""Builds a Keras model without a batch."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from nbtrain.inner.keras import builder_of, compiled_parts_of, layers_of


def build(model: Any, spec: Callable[[], Any]) -> None:
    """Creates the variables of a compiled model, its metrics and its optimizer, without values.

    Keras's own method (`Trainer._symbolic_build`, Keras 3.15) traces the model, so no layer
    computes anything. Without this method, or if the model cannot be traced, nothing changes, and
    Keras creates the variables at the first batch.

    Args:
        spec: Returns objects with the shapes and types of a batch; called only if a layer, a metric
            or the loss is not built.
    """
    build_all = builder_of(model)
    if build_all is None:
        return
    parts = [*layers_of(model), *compiled_parts_of(model)]
    batch = None
    if not all(part is None or part.built for part in parts):
        batch = spec()
        if batch is None or (model.run_eagerly and not _is_definite(batch)):
            return
    scope = model.distribute_strategy.scope()
    # If something does not fit, the first batch raises the error.
    with scope, contextlib.suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        build_all(data_batch=batch)


def has_keras_fit(model: Any) -> bool:
    """Returns whether a model has Keras's `fit` and not one of the user's own."""
    return getattr(model.fit, "__func__", None) is keras.Model.fit


def _is_definite(batch: Any) -> bool:
    """Returns whether all sizes except the batch size are known, as they are in an eager step."""
    return all(
        tf.TensorShape(part.shape)[1:].is_fully_defined()
        for part in keras.tree.flatten(batch)
        if part is not None
    )
