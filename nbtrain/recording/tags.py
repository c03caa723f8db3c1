"""Checks the tags of a run, and the values under a new tag once."""

from __future__ import annotations

import contextlib
from collections.abc import KeysView, Mapping
from typing import Any, SupportsFloat

import numpy as np

from nbtrain.core.errors import ArgumentError
from nbtrain.media.samples import is_sample, refusal
from nbtrain.recording.loss_monitor import is_loss
from nbtrain.recording.queue import Values


class KnownTags:
    """The tags that a run has recorded; training thread only.

    Attributes:
        last: The tags of the last step. Most steps have the same tags: one comparison is enough.
        changing: The tags of variables and arrays. Their values are read at once, because the next
            step overwrites them. Tensors are kept, and converted in another thread.
        samples: The tags of other values than scalars, such as images.
    """

    def __init__(self) -> None:
        self.last: KeysView[str] = {}.keys()
        self.changing: set[str] = set()
        self.samples: set[str] = set()
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

    def part(self, values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Splits the values of tags that differ from the last step's into scalars and samples.

        Raises:
            ArgumentError: A tag had samples before and its value is not a sample now, or the tag of
                a sample is not a name.
        """
        found: dict[str, Any] = {}
        for tag, value in values.items():
            if tag in self.samples:
                if not is_sample(value):
                    raise ArgumentError(
                        f"{tag!r} was recorded as a picture, a text or the like before, and is "
                        f"{value!r:.200} now: give scalars a name of their own."
                    )
            elif tag in self._known or not is_sample(value):
                continue
            elif not isinstance(tag, str) or not tag:
                raise _nameless(tag)
            elif isinstance(value, str) and is_loss(tag):  # a mistake: it is judged as a number
                continue
            found[tag] = value
        self.samples |= found.keys()
        return {tag: value for tag, value in values.items() if tag not in found}, found

    def read(self, values: Values) -> dict[str, SupportsFloat]:
        """Returns the values; those that may change later are converted to numbers."""
        return {
            tag: _now(value) if tag in self.changing else value for tag, value in values.items()
        }


def by_tag(values: Any, said: str = "step() returns") -> Mapping[str, Any]:
    """Returns the scalars of a step by tag, from a dict or a named tuple; a single one is `loss`.

    Args:
        values: The scalars.
        said: The beginning of an error's message.

    Raises:
        ArgumentError: `values` is none of these.
    """
    if isinstance(values, Mapping):
        return values
    if isinstance(values, tuple) and hasattr(values, "_asdict"):
        return dict(values._asdict())
    if _is_scalar(values):
        return {"loss": values}
    raise ArgumentError(
        f'{said} {described(values)}: give a dict of scalars, such as {{"loss": loss}}, a named '
        "tuple of them, or one scalar, which is recorded as loss."
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
    """Returns whether values of this type may change later: variables and arrays."""
    return hasattr(kind, "assign") or issubclass(kind, np.ndarray)


def _is_scalar(value: object) -> bool:
    shape = getattr(value, "shape", None)
    if shape is None:
        return hasattr(value, "__float__")
    with contextlib.suppress(ValueError):  # a tensor that is traced may have any shape
        return len(shape) == 0
    return True


def described(value: object) -> str:
    """Describes a value: "None", "a float", "a Tensor of shape (2, 3)"."""
    shape = getattr(value, "shape", None)
    kind = "None" if value is None else f"a {type(value).__name__}"
    return kind if shape is None else f"{kind} of shape {shape}"


def _now(value: SupportsFloat) -> SupportsFloat:
    """Converts a value to a number; returns it unchanged if it is not one, for a later message."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return value


def _check(tag: object, value: object) -> None:
    if not isinstance(tag, str) or not tag:
        raise _nameless(tag)
    check_real(tag, value)
    shape = getattr(value, "shape", None)
    if (shape is not None and len(shape)) or not hasattr(value, "__float__"):
        raise refusal(tag, value)


def _nameless(tag: object) -> ArgumentError:
    return ArgumentError(f"The tag {tag!r} is no name: give a string, such as 'loss'.")
