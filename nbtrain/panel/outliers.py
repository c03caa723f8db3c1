"""Values so far from the others that a picture leaves them out, by the rule of outliers.js."""

from __future__ import annotations

import numpy as np

from nbtrain.core.values.arrays import FloatArray

_EDGES = (0.05, 0.95)  # the middle of the values, as in TensorBoard
_FEW = 20  # values of which none is an outlier: nine tenths of so few say little
_FAR = 5.0  # times the width of the middle: with values further from it, it would be flat


def inner(values: FloatArray) -> tuple[float, float] | None:
    """Returns the least and the greatest of the values that are not far from their middle.

    Args:
        values: Finite values in any order.

    Returns:
        The two values; None if no value is far.
    """
    ordered = np.sort(values)
    if len(ordered) <= _FEW:
        return None
    last = len(ordered) - 1
    begin, end = ordered[int(np.ceil(_EDGES[0] * last))], ordered[int(_EDGES[1] * last)]
    with np.errstate(over="ignore"):
        far = _FAR * (end - begin)
        near = ordered[(ordered >= begin - far) & (ordered <= end + far)]
    return (float(near[0]), float(near[-1])) if far and len(near) < len(ordered) else None
