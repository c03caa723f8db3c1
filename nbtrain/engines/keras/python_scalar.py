"""A Python number that Keras keeps in a layer or an optimizer, and functions that find them.

of_optimizer(model.optimizer)    # its weight decay and its momentum
of_layers(model)                 # the dropout rates of its layers, and of those inside them
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any

import keras

from nbtrain.core.errors import ArgumentError

_DROPOUTS = (keras.layers.Dropout, keras.layers.GaussianDropout, keras.layers.AlphaDropout)


@dataclass(frozen=True, slots=True, eq=False)
class PythonScalar:
    """One number.

    Attributes:
        owner: The layer or the optimizer that has it.
        attribute: The name of its attribute.
        kind: Its name as a hyperparameter.
        label: The owner's name, the same in every program that builds the model alike.
        usable: Whether values other than 0 can be used: a layer or optimizer built with 0 has no
            random generator or no momenta.
    """

    owner: Any
    attribute: str
    kind: str
    label: str
    usable: bool

    def read(self) -> float:
        """Returns its value."""
        return float(getattr(self.owner, self.attribute))

    def write(self, value: float) -> None:
        """Sets its value.

        Raises:
            ArgumentError: It cannot be set.
        """
        if value and self.attribute == "momentum" and self.owner.built and not _momenta(self.owner):
            raise ArgumentError(
                f"{self.label} was built while its momentum was 0, and has no momenta: compile the "
                "model again."
            )
        try:
            setattr(self.owner, self.attribute, value)
        except Exception as error:
            raise ArgumentError(
                f"{self.attribute} of {self.label} cannot be set ({error}): leave it as it is, or "
                "let the class set it."
            ) from error


def of_optimizer(optimizer: Any) -> Iterator[PythonScalar]:
    """Yields the weight decay and momentum of an optimizer, if they are numbers."""
    optimizer = inner(optimizer)
    for name in ("weight_decay", "momentum"):
        value = getattr(optimizer, name, None)
        if _is_number(value):
            usable = name == "weight_decay" or value != 0 or bool(_momenta(optimizer))
            yield PythonScalar(optimizer, name, name, type(optimizer).__name__, usable)


def inner(optimizer: Any) -> Any:
    """The optimizer inside a `LossScaleOptimizer`; any other is returned as it is."""
    return getattr(optimizer, "inner_optimizer", optimizer)


def _momenta(optimizer: Any) -> Any:
    return getattr(optimizer, "momentums", None) or getattr(optimizer, "_momentums", None)


def of_layers(model: Any) -> Iterator[PythonScalar]:
    """Yields the rates of a model's layers, including nested ones, each once."""
    layers = model._flatten_layers()
    around = {
        id(cell): layer
        for layer in layers
        if isinstance(layer, keras.layers.RNN)
        for cell in getattr(layer.cell, "cells", (layer.cell,))
    }
    labels = _labels([around.get(id(layer), layer) for layer in layers])
    for layer, label in zip(layers, labels, strict=True):
        if isinstance(layer, _DROPOUTS):
            usable = hasattr(layer, "seed_generator")
            yield PythonScalar(layer, "rate", "dropout_rate", label, usable)
        elif hasattr(layer, "get_dropout_mask") or isinstance(layer, keras.layers.Attention):
            for name in ("dropout", "recurrent_dropout"):
                if _is_number(value := getattr(layer, name, None)):
                    yield PythonScalar(layer, name, name, label, value != 0)


def _labels(layers: list[Any]) -> Iterator[str]:
    """Yields names of layers that are the same in every program.

    Keras numbers the layers of a class over the whole program; here they are numbered per model.
    """
    counted: dict[str, dict[int, int]] = defaultdict(dict)
    for layer in layers:
        base = re.sub(r"_\d+$", "", layer.name)
        if base.replace("_", "") != type(layer).__name__.lower():
            yield layer.name
            continue
        count = counted[base].setdefault(id(layer), len(counted[base]))
        yield f"{base}_{count}" if count else base


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
