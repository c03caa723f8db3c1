"""A factor on the learning rate that a callback of Keras sets."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import keras

from nbtrain.core.hyperparameters import Variable
from nbtrain.engines.hyperparameters import EagerVariable
from nbtrain.engines.keras.python_scalar import inner
from nbtrain.engines.schedules import Factor

_RATE = "learning_rate"


class CallbackRate(Factor):
    """The factor on what a `LearningRateScheduler` sets at the beginning of each epoch.

    Args:
        optimizer: The optimizer.
        rate: What holds its learning rate.
    """

    def __init__(self, optimizer: Any, rate: EagerVariable) -> None:
        super().__init__(optimizer)
        self._rate = rate
        self._base = rate.read()  # as the callback has set it; asked for where the factor is 0

    def write(self, value: float) -> None:
        """Let the next step use this factor, on the rate that it would have without."""
        self._base = self._without()
        self.variable.assign(value)
        self._rate.write(self._base * value)

    @contextlib.contextmanager
    def lifted(self) -> Iterator[None]:
        """Inside, the rate is as it would be without the factor: what is set there is multiplied.

        Nothing is touched while the factor is 1.
        """
        factor = self.read()
        if factor == 1.0:
            yield
            return
        with self._rate.assignments.gathered():
            before, self._base = self._rate.read(), self._without()
            self._rate.write(self._base)
            lifted = self._rate.read()
            try:
                yield
            finally:
                base = self._rate.read()
                if base == lifted:
                    self._rate.write(before)  # to the last bit
                else:
                    self._base = base
                    self._rate.write(base * factor)

    def _without(self) -> float:
        factor = self.read()
        return self._rate.read() / factor if factor else self._base


def factor_on(
    optimizer: Any, callbacks: Sequence[Any], held: Mapping[str, Variable]
) -> dict[str, Variable]:
    """The factor, by its name, where one of the callbacks sets the learning rate by a schedule."""
    rate = held.get(_RATE)
    sets = any(isinstance(each, keras.callbacks.LearningRateScheduler) for each in callbacks)
    if not sets or Factor.NAME in held or not isinstance(rate, EagerVariable):
        return {}
    return {Factor.NAME: CallbackRate(inner(optimizer), rate)}
