"""A factor on a scheduled learning rate that can be set while it trains."""

from __future__ import annotations

import threading
from typing import Any

import tensorflow as tf

from nbtrain.core.errors import ArgumentError
from nbtrain.core.values.hyperparameters import Variable
from nbtrain.inner.keras import rate_of
from nbtrain.inner.variables import as_written

_WHY = (
    "the step was traced before the run was made (define the tf.function again), or the optimizer "
    "got another learning rate since"
)


class Factored(tf.keras.optimizers.schedules.LearningRateSchedule):
    """A schedule times a variable; in all else, it behaves like the schedule itself.

    A model saved with it can therefore be loaded without nbtrain, with the schedule alone.
    """

    def __init__(self, schedule: Any, factor: tf.Variable) -> None:
        self._schedule = schedule
        self._factor = factor
        self._asking: set[int] = set()  # threads; 0 means a trace or a replica's thread

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """The schedule's class, under which it is serialized."""
        return type(self._schedule)

    def __call__(self, step: Any) -> Any:
        """Returns the rate of a step: the schedule's rate times the factor."""
        shared = tf.inside_function() or tf.distribute.has_strategy()
        self._asking.add(0 if shared else threading.get_ident())
        rate = tf.convert_to_tensor(self._schedule(step))
        return rate * tf.cast(self._factor, rate.dtype)

    def without(self, step: Any) -> float:
        """Returns the rate of a step without the factor; not for use in a step."""
        with tf.device("CPU:0"):
            return float(self._schedule(step))

    def is_asked(self) -> bool:
        """Returns whether the steps of the calling thread, or a trace, have asked for the rate."""
        return not self._asking.isdisjoint({0, threading.get_ident()})

    def __getattr__(self, name: str) -> Any:
        return getattr(self._schedule, name)

    def get_config(self) -> Any:
        """Returns the schedule's config."""
        return self._schedule.get_config()


class Factor(Variable):
    """A factor on the learning rate of an optimizer, 1 at first.

    The optimizer has it as the attribute `learning_rate_factor`. The factor is therefore saved and
    restored with the optimizer, and a later run finds it again.
    """

    NAME = "learning_rate_factor"
    whole = False

    def __init__(self, optimizer: Any) -> None:
        if not hasattr(optimizer, self.NAME):
            factor = tf.Variable(1.0, trainable=False, name=self.NAME)
            setattr(optimizer, self.NAME, factor)
        self.variable: tf.Variable = getattr(optimizer, self.NAME)

    def read(self) -> float:
        """Returns the factor."""
        return as_written(self.variable.numpy())


class ScheduledRate(Factor):
    """The factor on the schedule of an optimizer, which is replaced by a `Factored`."""

    def __init__(self, optimizer: Any) -> None:
        super().__init__(optimizer)
        schedule = rate_of(optimizer)
        if type(schedule) is not Factored:
            optimizer.learning_rate = Factored(schedule, self.variable)
        self._optimizer = optimizer
        self._began = _steps(optimizer)
        self._unused = False  # shown by the steps: a restore does not undo it

    def write(self, value: float) -> None:
        """Sets the factor for the next step; refuses if the steps do not use it."""
        if value != 1.0 and self._is_unused():
            raise ArgumentError(
                f"The steps do not use {self.NAME}: {_WHY}. Start the run again where they do."
            )
        self.variable.assign(value)

    def begin(self, *, restored: bool) -> None:
        """Ignores the earlier steps of the optimizer, in other runs or undone by the restore."""
        self._began = _steps(self._optimizer)
        self._unused = self._unused and restored

    def unused_reason(self) -> str:
        """Returns the message that the steps ignore the factor, if they do and it is not 1."""
        if not self._is_unused() or (value := self.read()) == 1.0:
            return ""
        return f"is {value:.10g}, and the steps train as if it were 1: {_WHY}"

    def moment(self) -> Any:
        """Returns the optimizer's iterations, not read yet."""
        return self._optimizer.iterations.value.read_value()

    def rate(self, moment: int) -> float:
        """Returns the schedule's rate at `moment`."""
        schedule = rate_of(self._optimizer)
        if type(schedule) is not Factored:
            raise ArgumentError("the optimizer got another learning rate since")
        return schedule.without(tf.constant(moment, self._optimizer.iterations.dtype))

    def _is_unused(self) -> bool:
        """Returns whether steps were done and none has called the schedule."""
        schedule = rate_of(self._optimizer)
        asked = type(schedule) is Factored and schedule.is_asked()
        self._unused = not asked and (self._unused or _steps(self._optimizer) > self._began)
        return self._unused


def _steps(optimizer: Any) -> int:
    return int(optimizer.iterations.numpy())
