"""What Keras keeps as Python numbers: dropout rates, weight decay and momentum.

They are fixed in a step once it is traced: so an edit has it traced again, at the next batch. As
long as nothing is set, the step is Keras's own to the last bit.

numbers = Numbers(model)
numbers.held                 # what holds each of those that can be set, by name
numbers.saved()              # all of them, as JSON has them
numbers.take(saved)          # those of a checkpoint
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
    """Those of a compiled model and of its optimizer; `held` is settled here.

    Layers of one rate have one hyperparameter, so that a model of forty has one slider. It is
    `dropout_rate` where that is all of them; else it is named after the first of its layers.

    Args:
        model: The model; what its layers build later is not found.

    Attributes:
        held: What holds each of those that can be set, by name.
        note: In words, which are not as in the checkpoint that was taken; None for none.
    """

    def __init__(self, model: Any) -> None:
        self.note: str | None = None
        self._model = model
        self._all = [*of_optimizer(model.optimizer), *of_layers(model)]
        self.held: dict[str, Variable] = {
            name: Together(self, members) for name, members in _named(self._all).items()
        }

    def saved(self) -> dict[str, list[float]]:
        """The values of each kind, in the order of the model; training thread only."""
        return {kind: [n.read() for n in members] for kind, members in self._kinds().items()}

    def take(self, saved: Mapping[str, list[float]]) -> None:
        """Set those that a checkpoint has; `note` says which stay as they are."""
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
        """Set some, all or none, and have the step traced again where one has changed.

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
        """Refuse what a step that is traced again would not use, or would use otherwise.

        Raises:
            ArgumentError: The model is another by now, or keeps a trace of its own.
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
    """What holds one hyperparameter: numbers of one value; training thread only.

    Args:
        numbers: All of the model.
        members: Those of one value. A restore may give them several: read is the first.
    """

    whole = False

    def __init__(self, numbers: PythonScalars, members: list[PythonScalar]) -> None:
        self._numbers = numbers
        self._members = members

    def read(self) -> float:
        """The value."""
        return self._members[0].read()

    def write(self, value: float) -> None:
        """Let the next step use this value; it is traced again."""
        self._numbers.write(dict.fromkeys(self._members, value))


def _named(numbers: list[PythonScalar]) -> dict[str, list[PythonScalar]]:
    """Those that can be set, by the names of their hyperparameters."""
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
    """A name for some layers' rate that is not taken; `drop` gives `drop_dropout_rate`."""
    label = re.sub(r"\W|^(?=\d)", "_", label)
    end = "_rate" if kind == "dropout_rate" and "dropout" in label else f"_{kind}"
    names = (f"{label}{count}{end}" for count in ("", *(f"_{n}" for n in range(2, len(taken) + 3))))
    return next(name for name in names if name not in taken)
