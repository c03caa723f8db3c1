"""The protocol messages of event files, for the records that are read one by one.

The classes of these messages need a tenth of a second to load, so they are loaded with the first
record that needs them. Most runs need none: scalars are read by columns, and a file's first record
contains only its version.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt
    from tensorboard.compat.proto.event_pb2 import Event

GRAPHS = ("graph_def", "meta_graph_def")  # the fields of an `Event` that contain a graph
_WALL_TIME = 9  # bytes of the field that an event begins with
_OF_THE_FILE = (0x1A, 0x52)  # the keys of `file_version` and, in TensorFlow, `source_metadata`


def is_file_version(payload: bytes) -> bool:
    """Returns whether a serialized `Event` contains only its wall time and the file's version."""
    at = _WALL_TIME
    while at + 1 < len(payload) and payload[at] in _OF_THE_FILE and payload[at + 1] < 0x80:
        at += 2 + payload[at + 1]
    return at == len(payload) > _WALL_TIME


def event(payload: bytes) -> Event:
    """Parses the `Event` of a record.

    Raises:
        ValueError: The payload is not an `Event`.
    """
    from google.protobuf.message import DecodeError
    from tensorboard.compat.proto.event_pb2 import Event

    try:
        return Event.FromString(payload)
    except DecodeError as error:
        raise ValueError(f"{len(payload)} bytes that are no Event: {error}") from error


def array_of(tensor: Any) -> npt.NDArray[Any]:
    """Returns the array in a `TensorProto`.

    Every element must be present. TensorFlow also allows a single element in place of many equal
    ones, but no summary is written like that, and a few bytes could demand gigabytes of memory.

    Raises:
        ValueError: The tensor has fewer elements than its shape says, or cannot be read.
    """
    from tensorboard.util.tensor_util import make_ndarray

    shape = [dim.size for dim in tensor.tensor_shape.dim]
    if min(shape, default=0) < 0 or math.prod(shape) > tensor.ByteSize():
        raise ValueError(f"its shape is {tuple(shape)}, and it has {tensor.ByteSize()} bytes")
    try:
        array: npt.NDArray[Any] = make_ndarray(tensor)
    except (TypeError, KeyError, OverflowError) as error:  # not a type, or NumPy's own limits
        raise ValueError(f"its type is {tensor.dtype}: {error}") from error
    return array


def number_of(value: Any) -> float | None:
    """Returns the scalar in a `Summary.Value`; None for other values."""
    if value.WhichOneof("value") == "simple_value":
        return float(value.simple_value)
    shape = [dim.size for dim in value.tensor.tensor_shape.dim]
    if not value.HasField("tensor") or math.prod(shape) != 1:
        return None
    try:
        array = array_of(value.tensor)
    except ValueError:
        return None
    return float(array.reshape(())) if array.dtype.kind in "fiub" else None
