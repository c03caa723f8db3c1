"""Describes the layers of a Keras model and their connections, as a board draws them.

The form is that of `model.to_json()`, which Keras's TensorBoard callback writes too. But `to_json`
changes the history of the model's tensors while it works, so it must not run beside a training or
a cell. It also fails if one layer has no configuration, and it writes out each array that a layer
was given, such as a matrix of word vectors, number by number.
"""

from __future__ import annotations

import functools
import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

import keras
import numpy as np
import tensorflow as tf

from nbtrain.inner.keras import calls_of, is_functional, layers_of, made_by
from nbtrain.media.encoding import keras_event

if TYPE_CHECKING:
    from tensorboard.compat.proto.event_pb2 import Event

_TAG = "keras"  # as of Keras's callback

# The most layers that are described, with a kilobyte and a tenth of a millisecond each.
MOST_LAYERS = 5_000

# The most elements of an array or a list in a layer whose configuration is described.
_MOST_ELEMENTS = 1_000


def describing(models: Mapping[str, object]) -> list[Callable[[], Event]]:
    """Returns a function for each Sequential or functional model, which describes it."""
    found = {name: each for name, each in models.items() if _inner(each) is not None}
    tags = {name: _TAG if len(found) == 1 else f"{_TAG}/{name}" for name in found}
    return [functools.partial(described, each, tags[name]) for name, each in found.items()]


def described(model: Any, tag: str = _TAG) -> Event:
    """Returns an event with the JSON of a Sequential or functional model; any thread.

    Raises:
        ValueError: The model has too many layers, or is of neither kind, so that Keras does not
            know how its layers are connected.
    """
    if _inner(model) is None:
        raise ValueError(
            f"{type(model).__name__} is neither a Sequential nor a functional model, and Keras "
            "does not know how the layers of others are connected"
        )
    if (count := _count(model)) > MOST_LAYERS:
        raise ValueError(f"it has {count:,} layers, and at most {MOST_LAYERS:,} are described")
    return keras_event(tag, json.dumps(_of(model)))


def _inner(layer: Any) -> Sequence[Any] | None:
    """Returns the layers of a model that Keras can connect; None for others, and for a layer."""
    if isinstance(layer, keras.Sequential):
        return list(super(keras.Sequential, layer).layers)  # with its input layer
    connected = isinstance(layer, keras.Model) and is_functional(layer)
    return list(layer.operations) if connected else None


def _count(layer: Any) -> int:
    return sum(map(_count, _inner(layer) or ()), 1)


def _of(layer: Any) -> dict[str, Any]:
    layers = _inner(layer)
    if layers is None:
        return _of_layer(layer)
    config = {"name": layer.name, "layers": list(map(_of, layers))}
    if not isinstance(layer, keras.Sequential):
        calls = _calls(layer)
        for each, described in zip(layers, config["layers"], strict=True):
            described |= {"name": each.name, "inbound_nodes": calls[id(each)]}
        config["input_layers"] = [_place(each) for each in layer.inputs]
        config["output_layers"] = [_place(each) for each in layer.outputs]
    return {**_class(layer), "config": config}


def _calls(model: Any) -> dict[int, list[Any]]:
    """Returns the inputs of each call of a functional model's layers, by the layer's identity."""
    calls: dict[int, list[Any]] = defaultdict(list)
    for node in calls_of(model):
        if not node.is_input:
            tensors = keras.saving.serialize_keras_object(list(node.input_tensors))
            calls[id(node.operation)].append({"args": [tensors], "kwargs": {}})
    return calls


def _place(tensor: Any) -> list[Any]:
    layer, *numbers = made_by(tensor)
    return [layer.name, *numbers]


def _class(layer: Any) -> dict[str, Any]:
    return {"module": type(layer).__module__, "class_name": type(layer).__name__}


def _of_layer(layer: Any) -> dict[str, Any]:
    """Returns name, class and configuration of a layer, or why the configuration is left out."""
    try:
        why = _why_not_read(layer)
        if why is None:
            found: dict[str, Any] = keras.saving.serialize_keras_object(layer)
            json.dumps(found)
            return found
    except Exception as error:  # noqa: BLE001 - the layer is the user's own
        why = " ".join(f"{type(error).__name__}: {error}".split()).partition(". ")[0]
    return {**_class(layer), "config": {"name": layer.name, "configuration": f"left out: {why}"}}


def _why_not_read(layer: Any) -> str | None:
    """Returns why the configuration of a layer must not be read; None if it can be."""
    inside = layers_of(layer, with_itself=False) if isinstance(layer, keras.Layer) else ()
    if any(_inner(each) is not None for each in inside):  # Keras would change its tensors
        return "it holds a model"
    held = _values(layer)
    if not isinstance(layer, keras.layers.Lambda) and any(map(_is_lambda, held)):
        return "it holds a lambda, which Keras would warn of"
    held += [value for each in held if hasattr(each, "get_config") for value in _values(each)]
    most = max(map(_elements, held), default=0)
    return f"it may hold an array of {most:,} elements" if most > _MOST_ELEMENTS else None


def _values(item: Any) -> list[Any]:
    return list(getattr(item, "__dict__", {}).values())


def _is_lambda(value: Any) -> bool:
    return isinstance(value, FunctionType) and value.__name__ == "<lambda>"


def _elements(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return value.size
    if isinstance(value, tf.Tensor):
        return value.shape.num_elements() or 0
    return len(value) if isinstance(value, list | tuple | dict | set) else 1
