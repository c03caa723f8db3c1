"""TensorBoard's smoothing, over millions of points at once."""

from __future__ import annotations

import numpy as np

from nbtrain.core.arrays import FloatArray

# Points that one matrix product smooths: a balance between arithmetic and the Python loop.
_BLOCK = 64


def smoothed(values: FloatArray, weight: float) -> FloatArray:
    """Computes the debiased exponential moving average of values, as TensorBoard draws it.

    NaN and infinities stay, and are not part of the average.

    Args:
        values: float64 of shape (n,).
        weight: The weight of earlier values, below 1; 0 leaves the values as they are.

    Returns:
        float64 of shape (n,).
    """
    finite = np.isfinite(values)
    result = values.copy()
    average = _average(values[finite], weight)
    with np.errstate(under="ignore"):
        bias = 1 - weight ** np.arange(1, len(average) + 1, dtype=np.float64)
    result[finite] = average / bias
    return result


def _average(values: FloatArray, weight: float) -> FloatArray:
    """Computes the moving average from 0 within each block, then adds what each block inherits."""
    count = -(-len(values) // _BLOCK)
    blocks = np.zeros((count, _BLOCK))
    blocks.flat[: len(values)] = values
    with np.errstate(under="ignore"):
        powers = weight ** np.arange(_BLOCK + 1, dtype=np.float64)
        age = np.subtract.outer(np.arange(_BLOCK), np.arange(_BLOCK))
        kernel = np.where(age >= 0, (1 - weight) * powers[np.abs(age)], 0.0)
        within = blocks @ kernel.T
        inherited, last = np.empty(count), 0.0
        for block, end in enumerate(within[:, -1].tolist()):
            inherited[block] = last
            last = end + float(powers[-1]) * last
        within += np.outer(inherited, powers[1:])
    return within.ravel()[: len(values)]
