"""The Python numbers of a Keras model: dropout rates, weight decay and momentum.

They are constants in a traced step, so an edit makes the next batch trace the step again. As long
as nothing is set, the step is Keras's own to the last bit.

numbers = PythonScalars(model)
numbers.held            # the hyperparameters that can be set, by name
numbers.saved()         # all values, as JSON
numbers.restore(saved)  # sets the values of a checkpoint
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import keras

from nbtrain.core.errors import ArgumentError
from nbtrain.core.values.hyperparameters import Variable
from nbtrain.inner.keras import layers_of, momenta_of
from nbtrain.keras.loss import trace_again
from nbtrain.run.program.walk import COMPILED

_DROPOUTS = (keras.layers.Dropout, keras.layers.GaussianDropout, keras.layers.AlphaDropout)


@dataclass(frozen=True, slots=True, eq=False)
class PythonScalar:
    """A Python number that Keras keeps in a layer or an optimizer.

    Attributes:
        owner: The layer or the optimizer.
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
        """Sets its value, or raises an ArgumentError."""
        if (
            value
            and self.attribute == "momentum"
            and self.owner.built
            and not momenta_of(self.owner)
        ):
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


class PythonScalars:
    """The Python numbers of a compiled model and its optimizer.

    Layers with the same rate share one hyperparameter, so that a model with forty has one slider.
    It is called `dropout_rate` if all layers share it, or else after the first of its layers.
    Numbers that layers build later are not found.

    Attributes:
        held: The hyperparameters that can be set, by name; fixed at the beginning.
        note: The numbers that differ from the restored checkpoint, in words; None if there are
            none.
    """

    def __init__(self, model: Any) -> None:
        self.note: str | None = None
        self._model = model
        self._kinds: dict[str, list[PythonScalar]] = defaultdict(list)
        groups: dict[tuple[str, float], list[PythonScalar]] = defaultdict(list)
        for number in [*_of_optimizer(model.optimizer), *_of_layers(model)]:
            self._kinds[number.kind].append(number)
            if number.usable:
                groups[number.kind, number.read()].append(number)
        shared = [kind for kind, _ in groups]
        self.held: dict[str, Variable] = {}
        for (kind, _), members in groups.items():
            alone = shared.count(kind) == 1
            name = kind if alone else _free_name(kind, members[0].label, self.held)
            self.held[name] = Together(self, members)

    def saved(self) -> dict[str, list[float]]:
        """Returns the values of each kind, in the order of the model; training thread only."""
        return {kind: [n.read() for n in members] for kind, members in self._kinds.items()}

    def restore(self, saved: Mapping[str, list[float]]) -> None:
        """Sets the values of a checkpoint; `note` says which could not be set."""
        stay = []
        for kind, values in saved.items():
            here = self._kinds.get(kind, [])
            if len(here) != len(values):
                stay.append(f"{kind} of {len(values)} there and of {len(here)} here")
                continue
            wanted = dict(zip(here, values, strict=True))
            for number in [each for each in here if not each.usable]:
                value = wanted.pop(number)
                if number.read() != value:
                    stay.append(f"{kind} {value:.10g} of {number.label}, which was built with 0")
            try:
                self.write(wanted)
            except ArgumentError as error:
                stay.append(str(error).rstrip("."))
        self.note = f"Not as in the checkpoint: {'; '.join(stay)}." if stay else None

    def write(self, wanted: Mapping[PythonScalar, float]) -> None:
        """Sets some values, all or none, and traces the step again if one has changed.

        Raises:
            ArgumentError: A value cannot be set.
        """
        old = {number: now for number in wanted if (now := number.read()) != wanted[number]}
        if not old:
            return
        self._check(old)
        written = []
        try:
            for number in old:
                number.write(wanted[number])
                written.append(number)
        except ArgumentError:
            for number in written:
                number.write(old[number])
            raise
        trace_again(self._model)

    def _check(self, changed: Mapping[PythonScalar, float]) -> None:
        """Checks that a new trace of the step would use the new values.

        Raises:
            ArgumentError: A layer keeps a trace of its own, with the old value.
        """
        layers = layers_of(self._model)
        kept = [layer for layer in layers if isinstance(type(layer).call, COMPILED)]
        for number in changed:
            for layer in kept:
                if any(inside is number.owner for inside in layers_of(layer)):
                    raise ArgumentError(
                        f"{number.attribute} of {number.label} is fixed in "
                        f"{type(layer).__name__}.call, a tf.function, which keeps what it has "
                        "traced: leave out that decorator; Keras compiles the step."
                    )


class Together(Variable):
    """One hyperparameter: several numbers with the same value; training thread only.

    After a restore the numbers may differ; then the first one is read.
    """

    whole = False

    def __init__(self, numbers: PythonScalars, members: list[PythonScalar]) -> None:
        self._numbers = numbers
        self._members = members

    def read(self) -> float:
        """Returns the value."""
        return self._members[0].read()

    def write(self, value: float) -> None:
        """Sets the value for the next step, which is traced again."""
        self._numbers.write(dict.fromkeys(self._members, value))


def _free_name(kind: str, label: str, taken: Mapping[str, object]) -> str:
    """Returns a name for the rate of some layers; `drop` gives `drop_dropout_rate`."""
    label = re.sub(r"\W|^(?=\d)", "_", label)
    end = "_rate" if kind == "dropout_rate" and "dropout" in label else f"_{kind}"
    names = (f"{label}{count}{end}" for count in ("", *(f"_{n}" for n in range(2, len(taken) + 3))))
    return next(name for name in names if name not in taken)


def _of_optimizer(optimizer: Any) -> Iterator[PythonScalar]:
    """Yields the weight decay and momentum of an optimizer, if they are numbers."""
    optimizer = inner(optimizer)
    for name in ("weight_decay", "momentum"):
        value = getattr(optimizer, name, None)
        if _is_number(value):
            usable = name == "weight_decay" or value != 0 or bool(momenta_of(optimizer))
            yield PythonScalar(optimizer, name, name, type(optimizer).__name__, usable)


def inner(optimizer: Any) -> Any:
    """Returns the optimizer inside a `LossScaleOptimizer`; any other as it is."""
    return getattr(optimizer, "inner_optimizer", optimizer)


def _of_layers(model: Any) -> Iterator[PythonScalar]:
    """Yields the rates of a model's layers, including nested ones, each once."""
    layers = layers_of(model)
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
