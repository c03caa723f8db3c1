"""Reads the arrays of tensors in a file that may be malformed."""

from __future__ import annotations

import math
from typing import Any

import numpy.typing as npt


def array_of(tensor: Any) -> npt.NDArray[Any]:
    """Returns the array in a `TensorProto`.

    Every element must be present. TensorFlow also allows a single element for a shape of equal
    ones, but no summary is written so, and a few bytes could ask for gigabytes.

    Raises:
        ValueError: It holds less than its shape says, or nothing readable.
    """
    from tensorboard.util.tensor_util import make_ndarray  # here: it takes a while to load

    shape = [dim.size for dim in tensor.tensor_shape.dim]
    if min(shape, default=0) < 0 or math.prod(shape) > tensor.ByteSize():
        raise ValueError(f"its shape is {tuple(shape)}, and it has {tensor.ByteSize()} bytes")
    try:
        array: npt.NDArray[Any] = make_ndarray(tensor)
    except (TypeError, KeyError, OverflowError) as error:  # not a type, or NumPy's own limits
        raise ValueError(f"its type is {tensor.dtype}: {error}") from error
    return array
