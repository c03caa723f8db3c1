"""The Python numbers of a Keras model: dropout rates, weight decay and momentum.

They are constants in a traced step, so an edit makes the next batch trace the step again. As long
as nothing is set, the step is Keras's own to the last bit.

numbers = PythonScalars(model)
numbers.held                 # the hyperparameters that can be set, by name
numbers.saved()              # all values, as JSON
numbers.take(saved)          # sets the values of a checkpoint
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from nbtrain.core.errors import ArgumentError
from nbtrain.core.hyperparameters import Variable
from nbtrain.engines.keras.loss import trace_anew
from nbtrain.engines.keras.python_scalar import PythonScalar, inner, of_layers, of_optimizer
from nbtrain.run.walk import COMPILED


class PythonScalars:
    """The Python numbers of a compiled model and its optimizer.

    Layers with the same rate share one hyperparameter, so that a model with forty has one slider.
    It is called `dropout_rate` if all layers share it, or else after the first of its layers.

    Args:
        model: The model; numbers that its layers build later are not found.

    Attributes:
        held: The hyperparameters that can be set, by name; fixed at the beginning.
        note: The numbers that differ from the restored checkpoint, in words; None if there are
            none.
    """

    def __init__(self, model: Any) -> None:
        self.note: str | None = None
        self._model = model
        self._all = [*of_optimizer(model.optimizer), *of_layers(model)]
        self.held: dict[str, Variable] = {
            name: Together(self, members) for name, members in _named(self._all).items()
        }

    def saved(self) -> dict[str, list[float]]:
        """Returns the values of each kind, in the order of the model; training thread only."""
        return {kind: [n.read() for n in members] for kind, members in self._kinds().items()}

    def take(self, saved: Mapping[str, list[float]]) -> None:
        """Sets the values of a checkpoint; `note` says which could not be set."""
        stay = []
        for kind, values in saved.items():
            here = self._kinds().get(kind, [])
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
            ArgumentError: One cannot be set.
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
        trace_anew(self._model)

    def _kinds(self) -> dict[str, list[PythonScalar]]:
        kinds = defaultdict(list)
        for number in self._all:
            kinds[number.kind].append(number)
        return kinds

    def _check(self, changed: Mapping[PythonScalar, float]) -> None:
        """Checks that a new trace of the step would use the new values, and no other changes.

        Raises:
            ArgumentError: The model has been changed, or keeps its own trace.
        """
        layers = self._model._flatten_layers()
        there = {id(owner) for owner in (inner(self._model.optimizer), *layers)}
        for number in self._all:
            if id(number.owner) not in there:
                raise ArgumentError(
                    f"{number.label} is no more in the model: the step would be traced of another "
                    "model than the run has begun with. Stop the run, and start it again."
                )
        kept = [layer for layer in layers if isinstance(type(layer).call, COMPILED)]
        for number in changed:
            for layer in kept:
                if any(inside is number.owner for inside in layer._flatten_layers()):
                    raise ArgumentError(
                        f"{number.attribute} of {number.label} is fixed in "
                        f"{type(layer).__name__}.call, a tf.function, which keeps what it has "
                        "traced: leave out that decorator; Keras compiles the step."
                    )


class Together(Variable):
    """One hyperparameter: several numbers with the same value; training thread only.

    Args:
        numbers: All numbers of the model.
        members: The numbers of this hyperparameter. After a restore they may differ; then the first
            one is read.
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


def _named(numbers: list[PythonScalar]) -> dict[str, list[PythonScalar]]:
    """The numbers that can be set, by the names of their hyperparameters."""
    groups: dict[tuple[str, float], list[PythonScalar]] = defaultdict(list)
    for number in numbers:
        if number.usable:
            groups[number.kind, number.read()].append(number)
    kinds = [kind for kind, _ in groups]
    named: dict[str, list[PythonScalar]] = {}
    for (kind, _), members in groups.items():
        name = kind if kinds.count(kind) == 1 else _name(kind, members[0].label, named)
        named[name] = members
    return named


def _name(kind: str, label: str, taken: Mapping[str, object]) -> str:
    """Returns a free name for the rate of some layers; `drop` gives `drop_dropout_rate`."""
    label = re.sub(r"\W|^(?=\d)", "_", label)
    end = "_rate" if kind == "dropout_rate" and "dropout" in label else f"_{kind}"
    names = (f"{label}{count}{end}" for count in ("", *(f"_{n}" for n in range(2, len(taken) + 3))))
    return next(name for name in names if name not in taken)
