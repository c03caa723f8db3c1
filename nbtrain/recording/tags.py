"""The tags of a run; values under a new tag are checked once."""

from __future__ import annotations

from collections.abc import KeysView
from typing import SupportsFloat

import numpy as np

from nbtrain.core.errors import ArgumentError
from nbtrain.recording.queue import Values


class KnownTags:
    """The tags that a run has recorded; training thread only.

    Attributes:
        last: Those of the last step. Most steps have the same ones: one comparison is enough.
        changing: The tags of variables and arrays. These are read at once, as the next step
            overwrites them; tensors are kept, and converted in another thread.
    """

    def __init__(self) -> None:
        self.last: KeysView[str] = {}.keys()
        self.changing: set[str] = set()
        self._known: set[str] = set()

    def admit(self, values: Values) -> None:
        """Checks tags that differ from the last step's.

        Raises:
            ArgumentError: A new tag is not a name, or its value is not a scalar.
        """
        if not self._known >= values.keys():
            for tag, value in values.items():
                _check(tag, value)
            self.changing |= {tag for tag, value in values.items() if changes(type(value))}
            self._known |= values.keys()
        self.last = dict.fromkeys(values, None).keys()

    def read(self, values: Values) -> dict[str, SupportsFloat]:
        """Returns the values; those that may change later are converted to numbers."""
        return {
            tag: _now(value) if tag in self.changing else value for tag, value in values.items()
        }


def no_mapping(values: object) -> ArgumentError:
    """Returns the error for a step's result that is not a dict."""
    return ArgumentError(
        f"{type(values).__name__} object given: a step returns (and record takes) a "
        'dict of scalars, such as {"loss": loss}.'
    )


def check_real(tag: str, value: object) -> None:
    """Raises an ArgumentError for a complex number: its conversion drops the imaginary part."""
    kind = getattr(getattr(value, "dtype", None), "name", type(value).__name__)
    if kind.startswith("complex"):
        raise ArgumentError(
            f"{tag!r} is a {kind} number, and a curve is of real ones: record its magnitude, "
            "tf.abs(...), or under two tags tf.math.real(...) and tf.math.imag(...)."
        )


def changes(kind: type) -> bool:
    """Tells if values of this type may change later: variables and arrays."""
    return hasattr(kind, "assign") or issubclass(kind, np.ndarray)


def _now(value: SupportsFloat) -> SupportsFloat:
    """Converts a value to a number; returns it unchanged if it is none, for a later message."""
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
