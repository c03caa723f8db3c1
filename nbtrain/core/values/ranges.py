"""A hyperparameter's value, and the range learned from its name and first value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Any

from nbtrain.core.errors import ArgumentError

# Endings of the names of values that are never negative, and of fractions below one.
_RATES = ("learning_rate", "lr", "learning_rate_factor", "weight_decay")
_SHARES = ("dropout", "dropout_rate", "momentum", "beta_1", "beta_2", "rho")

# Decades of a logarithmic range on both sides of the value, and of a range that begins at 0.
_DECADES = 2
_FROM_ZERO = (1e-6, 1.0)

# The end of a linear range of fractions, which excludes 1.
_LAST_SHARE = 0.99


class Scale(str, Enum):
    """The spacing of values between two bounds."""

    LOG = "log"
    LINEAR = "linear"
    WHOLE = "whole"
    """Linear, whole numbers only."""

    def __str__(self) -> str:
        """Returns the scale's word."""
        return self.value


@dataclass(frozen=True, slots=True)
class Hyperparameter:
    """One hyperparameter, as last read.

    Attributes:
        name: Its name.
        value: Its value.
        lowest: The lower end of the range of the slider; other values may be set too. The range is
            learned from the first value. It is wider only while the current value lies outside.
        highest: The upper end of the range.
        scale: The spacing of the range.
        rate: For a factor on a schedule, the learning rate of the last second; else None.
    """

    name: str
    value: float
    lowest: float
    highest: float
    scale: Scale
    rate: float | None = None

    def __str__(self) -> str:
        """Returns its name and its value, and the rate."""
        rate = "" if self.rate is None else f" (rate {self.rate:.3g})"
        return f"{self.name} {self.value:.10g}{rate}"

    def at(self, value: float) -> Hyperparameter:
        """Returns a copy with another value, and a range that includes it.

        The range ends at the next power of ten, so it does not move with every step of a slider
        there.
        """
        lowest, highest = self.lowest, self.highest
        if math.isfinite(value) and (value > 0 or self.scale is not Scale.LOG):
            end = value if _is_share(self.name) else _outer(value, down=value < lowest)
            lowest = min(value, end) if value < lowest else lowest
            highest = max(value, end) if value > highest else highest
        return Hyperparameter(self.name, value, lowest, highest, self.scale)

    @classmethod
    def of(cls, name: str, value: float, *, whole: bool) -> Hyperparameter:
        """Returns a hyperparameter with a range learned from its value."""
        size = abs(value) if math.isfinite(value) else 0.0
        if whole:
            begin = min(1.0, value) if value > 0 else -4 * size if value < 0 else 0.0
            return cls(name, value, begin, max(10.0, 4 * size), Scale.WHOLE)
        if _is_share(name):
            return cls(name, value, 0.0, _LAST_SHARE, Scale.LINEAR).at(value)
        if value > 0 and size:
            middle = round(math.log10(size))
            return cls(
                name, value, 10.0 ** (middle - _DECADES), 10.0 ** (middle + _DECADES), Scale.LOG
            )
        if _is(name, _RATES):
            return cls(name, value, *_FROM_ZERO, Scale.LOG)
        return cls(name, value, -2 * size, 2 * size or 1.0, Scale.LINEAR)


def checked(name: str, value: Any, *, whole: bool) -> float:
    """Returns a value as a number.

    Raises:
        ArgumentError: The hyperparameter of this name cannot have it.
    """
    try:
        if isinstance(value, str | bytes | bool) or len(getattr(value, "shape", ())):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name}={value!r} is no number: give one, such as 0.001.") from None
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ArgumentError(f"{name}={number}: give a finite number.")
    if _is(name, _RATES) and number < 0:
        raise ArgumentError(f"{name}={number:.10g}: give 0 or more.")
    if _is_share(name) and not 0 <= number < 1:
        raise ArgumentError(f"{name}={number:.10g}: give 0 or more, and less than 1.")
    if whole and number != round(number):
        raise ArgumentError(
            f"{name}={number:.10g}: its variable holds whole numbers, give one of these."
        )
    return number


def _is_share(name: str) -> bool:
    """Returns whether it is a fraction below one, even after a layer's name: `dropout_1_rate`."""
    return _is(name, _SHARES) or ("dropout" in name and name.endswith("_rate"))


def _outer(value: float, *, down: bool) -> float:
    """Returns the next power of ten, away from the range; 0 for 0."""
    if value == 0:
        return 0.0
    exponent = math.log10(abs(value))
    whole = math.floor(exponent) if down and value > 0 else math.ceil(exponent)
    return math.copysign(10.0 ** min(max(whole, -307), 308), value)


def _is(name: str, words: tuple[str, ...]) -> bool:
    return any(name == word or name.endswith(f"_{word}") for word in words)
