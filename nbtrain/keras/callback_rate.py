"""A factor on a learning rate that a Keras callback sets."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import keras

from nbtrain.core.values.hyperparameters import Variable
from nbtrain.engines.eager_variable import EagerVariable
from nbtrain.engines.schedules import Factor
from nbtrain.keras.python_scalars import inner

_RATE = "learning_rate"


class CallbackRate(Factor):
    """The factor on the rate that a `LearningRateScheduler` sets at the beginning of each epoch."""

    def __init__(self, optimizer: Any, rate: EagerVariable) -> None:
        super().__init__(optimizer)
        self._rate = rate
        self._base = rate.read()  # as set by the callback; needed if the factor is 0

    def write(self, value: float) -> None:
        """Sets the factor for the next step, applied to the rate without a factor."""
        self._base = self._without()
        self.variable.assign(value)
        self._rate.write(self._base * value)

    @contextlib.contextmanager
    def lifted(self) -> Iterator[None]:
        """Removes the factor inside the block, so that a rate set there is multiplied.

        Does nothing while the factor is 1.
        """
        factor = self.read()
        if factor == 1.0:
            yield
            return
        before, self._base = self._rate.read(), self._without()
        self._rate.write(self._base)
        lifted = self._rate.read()
        try:
            yield
        finally:
            base = self._rate.read()
            if base == lifted:
                self._rate.write(before)  # exact to the last bit
            else:
                self._base = base
                self._rate.write(base * factor)

    def _without(self) -> float:
        factor = self.read()
        return self._rate.read() / factor if factor else self._base


def factor_on(
    optimizer: Any, callbacks: Sequence[Any], held: Mapping[str, Variable]
) -> dict[str, Variable]:
    """Returns the factor by its name, if a callback schedules the learning rate; else none."""
    rate = held.get(_RATE)
    sets = any(isinstance(each, keras.callbacks.LearningRateScheduler) for each in callbacks)
    if not sets or Factor.NAME in held or not isinstance(rate, EagerVariable):
        return {}
    return {Factor.NAME: CallbackRate(inner(optimizer), rate)}
