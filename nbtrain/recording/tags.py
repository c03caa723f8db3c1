"""The tags of a run: what comes under a new one is checked, once."""

from __future__ import annotations

from collections.abc import KeysView
from typing import SupportsFloat

import numpy as np

from nbtrain.core.errors import ArgumentError
from nbtrain.recording.queue import Values


class KnownTags:
    """The tags that a run has recorded; training thread only.

    Attributes:
        last: Those of the step before. Steps mostly bring the same: one comparison tells.
        changing: Those of variables and arrays. They are read at once, as the next step
            writes to them; tensors are kept, and converted on another thread.
    """

    def __init__(self) -> None:
        self.last: KeysView[str] = {}.keys()
        self.changing: set[str] = set()
        self._known: set[str] = set()

    def admit(self, values: Values) -> None:
        """Look at tags that differ from the last.

        Raises:
            ArgumentError: Under a new tag there is no scalar, or it is no name.
        """
        if not self._known >= values.keys():
            for tag, value in values.items():
                _check(tag, value)
            self.changing |= {tag for tag, value in values.items() if changes(type(value))}
            self._known |= values.keys()
        self.last = dict.fromkeys(values, None).keys()

    def read(self, values: Values) -> dict[str, SupportsFloat]:
        """The same values, those that go on changing as the numbers they are now."""
        return {
            tag: _now(value) if tag in self.changing else value for tag, value in values.items()
        }


def no_mapping(values: object) -> ArgumentError:
    """What to say of a step's result that is no dict."""
    return ArgumentError(
        f"{type(values).__name__} object given: a step returns (and record takes) a "
        'dict of scalars, such as {"loss": loss}.'
    )


def check_real(tag: str, value: object) -> None:
    """Raise an ArgumentError for a complex number: its conversion drops the imaginary part."""
    kind = getattr(getattr(value, "dtype", None), "name", type(value).__name__)
    if kind.startswith("complex"):
        raise ArgumentError(
            f"{tag!r} is a {kind} number, and a curve is of real ones: record its magnitude, "
            "tf.abs(...), or under two tags tf.math.real(...) and tf.math.imag(...)."
        )


def changes(kind: type) -> bool:
    """Whether what is of this type may hold another value later: a variable, an array."""
    return hasattr(kind, "assign") or issubclass(kind, np.ndarray)


def _now(value: SupportsFloat) -> SupportsFloat:
    """The number that a value is now; itself if it is none, which is told where all are read."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return value


def _check(tag: object, value: object) -> None:
    if not isinstance(tag, str) or not tag:
        raise ArgumentError(f"The tag {tag!r} is no name: give a string, such as 'loss'.")
    check_real(tag, value)
    shape = getattr(value, "shape", None)
    if (shape is not None and len(shape)) or not hasattr(value, "__float__"):
        what = f"has the shape {tuple(shape)}" if shape else f"is {value!r}"
        raise ArgumentError(
            f"{tag!r} {what}, and a scalar was expected: a number, or a tensor of shape "
            "(), such as tf.reduce_mean(...) gives."
        )
