"""A hyperparameter's value, and the range learned from its name and first value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

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
        lowest: The lower end of the offered range; other values may be set too. The range is
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
            end = value if is_share(self.name) else _outer(value, down=value < lowest)
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
        if is_share(name):
            return cls(name, value, 0.0, _LAST_SHARE, Scale.LINEAR).at(value)
        if value > 0 and size:
            middle = round(math.log10(size))
            return cls(
                name, value, 10.0 ** (middle - _DECADES), 10.0 ** (middle + _DECADES), Scale.LOG
            )
        if is_rate(name):
            return cls(name, value, *_FROM_ZERO, Scale.LOG)
        return cls(name, value, -2 * size, 2 * size or 1.0, Scale.LINEAR)


def is_rate(name: str) -> bool:
    """Tells if it is never negative."""
    return _is(name, _RATES)


def is_share(name: str) -> bool:
    """Tells if it is a fraction below one, even after a layer's name: `dropout_1_rate`."""
    return _is(name, _SHARES) or ("dropout" in name and name.endswith("_rate"))


def _outer(value: float, *, down: bool) -> float:
    """The next power of ten, away from the range; 0 for 0."""
    if value == 0:
        return 0.0
    exponent = math.log10(abs(value))
    whole = math.floor(exponent) if down and value > 0 else math.ceil(exponent)
    return math.copysign(10.0 ** min(max(whole, -307), 308), value)


def _is(name: str, words: tuple[str, ...]) -> bool:
    return any(name == word or name.endswith(f"_{word}") for word in words)
