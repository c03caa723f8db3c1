"""Checks arguments that are whole numbers: of steps, epochs, batches, checkpoints."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from nbtrain.core.errors import ArgumentError


def whole(name: str, value: Any, *, least: int = 1, none: str | None = None) -> int:
    """Returns `value` as an int of Python, because JSON knows no integers of NumPy.

    Args:
        none: What None would do, for the message; None if the argument cannot be None.

    Raises:
        ArgumentError: The value is not a whole number of at least `least`.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        or_none = "" if none is None else f", or None to {none}"
        raise ArgumentError(f"{name}={value!r}: give a whole number of at least {least}{or_none}.")
    return int(value)
