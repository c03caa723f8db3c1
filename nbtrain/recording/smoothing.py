"""TensorBoard's smoothing, over millions of points at once."""

from __future__ import annotations

import numpy as np

from nbtrain.core.arrays import FloatArray

# Points that one product with a matrix smooths: more are more work, fewer more of Python's loop.
_BLOCK = 64


def smoothed(values: FloatArray, weight: float) -> FloatArray:
    """The debiased exponential moving average of some values, as TensorBoard draws it.

    What is not finite stays as it is, and takes no part in the average.

    Args:
        values: float64 of shape (n,).
        weight: Of what came before; 0 leaves the values as they are, below 1.

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
    """The moving average that begins with 0: block by block, then with what each inherits."""
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
