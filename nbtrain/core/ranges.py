"""A hyperparameter as it was read: its value, and the range learnt from its name and that."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

# By the end of their names: what is never below zero, and what is a share below one.
_RATES = ("learning_rate", "lr", "learning_rate_factor", "weight_decay")
_SHARES = ("dropout", "dropout_rate", "momentum", "beta_1", "beta_2", "rho")

# Of a logarithmic range: decades on both sides of the value, and the range of one that begins at 0.
_DECADES = 2
_FROM_ZERO = (1e-6, 1.0)

# Where a linear range of shares ends: 1 itself is none.
_LAST_SHARE = 0.99


class Scale(str, Enum):
    """How the values between two bounds are laid out."""

    LOG = "log"
    LINEAR = "linear"
    WHOLE = "whole"
    """Linear, and of whole numbers."""

    def __str__(self) -> str:
        """The scale's word."""
        return self.value


@dataclass(frozen=True, slots=True)
class Hyperparameter:
    """One hyperparameter, as it was read last.

    Attributes:
        name: Its name.
        value: Its value.
        lowest: Where the range begins that is offered for it; values beyond may be set too. It is
            learnt from the first value, and wider only as long as the present one lies outside.
        highest: Where that ends.
        scale: How the range is laid out.
        rate: Of a factor on a schedule: the learning rate of the last second; else None.
    """

    name: str
    value: float
    lowest: float
    highest: float
    scale: Scale
    rate: float | None = None

    def __str__(self) -> str:
        """Its name and its value, and the rate."""
        rate = "" if self.rate is None else f" (rate {self.rate:.3g})"
        return f"{self.name} {self.value:.10g}{rate}"

    def at(self, value: float) -> Hyperparameter:
        """The same with another value, and a range that holds it as well.

        It ends at the next power of ten: so it does not move with every step of a slider there.
        """
        lowest, highest = self.lowest, self.highest
        if math.isfinite(value) and (value > 0 or self.scale is not Scale.LOG):
            end = value if is_share(self.name) else _outer(value, down=value < lowest)
            lowest = min(value, end) if value < lowest else lowest
            highest = max(value, end) if value > highest else highest
        return Hyperparameter(self.name, value, lowest, highest, self.scale)

    @classmethod
    def of(cls, name: str, value: float, *, whole: bool) -> Hyperparameter:
        """One of which only a value is known, with the range learnt from that."""
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
    """Whether it is never below zero."""
    return _is(name, _RATES)


def is_share(name: str) -> bool:
    """Whether it is a share below one: `dropout_1_rate` too, after the name of a layer."""
    return _is(name, _SHARES) or ("dropout" in name and name.endswith("_rate"))


def _outer(value: float, *, down: bool) -> float:
    """The power of ten that is next to a value from there outwards; 0 for 0."""
    if value == 0:
        return 0.0
    exponent = math.log10(abs(value))
    whole = math.floor(exponent) if down and value > 0 else math.ceil(exponent)
    return math.copysign(10.0 ** min(max(whole, -307), 308), value)


def _is(name: str, words: tuple[str, ...]) -> bool:
    return any(name == word or name.endswith(f"_{word}") for word in words)
