"""The beginning of a pass over data, of whatever kind they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from nbtrain.core.errors import ArgumentError

_GIVE = (
    "give a tf.data.Dataset of batches, such as "
    "tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1000).batch(32)."
)


def beginning(data: Any) -> tuple[Callable[[], Any], bool]:
    """Returns a function that begins a pass over data, and whether it can be repeated.

    Raises:
        ArgumentError: It is not data, or not in batches.
    """
    if hasattr(data, "shape") or isinstance(data, (tuple, Mapping, str, bytes)):
        raise ArgumentError(f"data={type(data).__name__} object is no sequence of batches: {_GIVE}")
    if isinstance(data, Iterator):
        return lambda: data, False
    if isinstance(data, Iterable):
        return lambda: iter(data), True
    if callable(data):
        return lambda: iter(data()), True
    raise ArgumentError(f"data={data!r} cannot be drawn from: {_GIVE}")
