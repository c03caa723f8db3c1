"""The arrays of tensors in a file, which may say anything of themselves."""

from __future__ import annotations

import math
from typing import Any

import numpy.typing as npt


def array_of(tensor: Any) -> npt.NDArray[Any]:
    """The array that a `TensorProto` holds.

    TensorFlow takes one element for as many equal ones as a shape has; no summary is written
    so, and a few bytes could ask for gigabytes: an element must be there to be read.

    Raises:
        ValueError: It holds less than its shape says, or nothing that can be read.
    """
    from tensorboard.util.tensor_util import make_ndarray  # here: it takes a while to load

    shape = [dim.size for dim in tensor.tensor_shape.dim]
    if min(shape, default=0) < 0 or math.prod(shape) > tensor.ByteSize():
        raise ValueError(f"its shape is {tuple(shape)}, and it has {tensor.ByteSize()} bytes")
    try:
        array: npt.NDArray[Any] = make_ndarray(tensor)
    except (TypeError, KeyError, OverflowError) as error:  # a type that is none, or its own limits
        raise ValueError(f"its type is {tensor.dtype}: {error}") from error
    return array
