"""Compares the structure of a Keras model with its structure when a step was traced.

A traced step is a graph: freezing or replacing a layer does not change it. (Keras itself refuses
to bind an attribute of a built model to another layer.)

structure = Structure("model", model)    # when the step is traced
structure.changed()                      # "dense_1.trainable is False now, and was True ..."
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import tensorflow as tf

from nbtrain.inner.keras import layers_of, trainable_of


class Structure:
    """The layers of one model at a moment, and whether each is trained; any thread.

    Attributes:
        exchanged: Whether `changed` last found an added or removed layer.
    """

    def __init__(self, name: str, model: Any) -> None:
        self.name, self.exchanged = name, False
        self._model = model
        self.store()

    def store(self) -> None:
        """Stores the present structure as the traced one."""
        layers = list(_layers(self._model))
        self._layers = {id(layer): layer for layer in layers}
        self._flags = [(layer, _trained(layer)) for layer in layers]

    def changed(self) -> str:
        """Describes the changes since; empty if there are none."""
        now = {id(layer): layer for layer in _layers(self._model)}
        words = [
            f"{self.name} has no layer {layer.name} any more"
            for key, layer in self._layers.items()
            if key not in now
        ]
        if isinstance(self._model, tf.keras.Sequential) and not words:  # other models add some
            words += [
                f"{self.name} has a new layer {layer.name}"
                for layer in self._model.layers
                if id(layer) not in self._layers
            ]
        self.exchanged = bool(words)
        words += [
            f"{layer.name}.trainable is {layer.trainable} now"
            if layer.trainable is not flags[0]
            else f"a variable of {layer.name} is {'frozen' if any(flags[1:]) else 'trained'} now"
            for layer, flags in self._flags
            if id(layer) in now and flags[: len(found := _trained(layer))] != found[: len(flags)]
        ]
        more = f" (and {len(words) - 1} changes more)" if len(words) > 1 else ""
        return words[0] + more if words else ""


def traces(compiled: Any) -> int:
    """Returns how often a `tf.function` has been traced."""
    return int(compiled.experimental_get_tracing_count())


# The attribute of a `tf.function` that stores how often it was traced, and with which structures.
# It outlives the run. Nothing global refers to it, so the function and its models can be freed.
_KNOWN = "_nbtrain_traced"


def structures_of(compiled: Any, models: Iterable[tuple[str, Any]]) -> list[Structure]:
    """Returns the structures of the models when a `tf.function` was traced."""
    count = traces(compiled)
    known, structures = getattr(compiled, _KNOWN, (None, []))
    if known != count:
        structures = [Structure(name, model) for name, model in models]
        setattr(compiled, _KNOWN, (count, structures))
    return structures


def _layers(model: Any) -> Iterator[Any]:
    """Yields the model, its layers, and their layers."""
    yield from layers_of(model)


def _trained(layer: Any) -> list[bool]:
    """Returns `trainable` of a layer and of each variable that it has by itself."""
    return [layer.trainable, *(each.trainable for each in trainable_of(layer))]
