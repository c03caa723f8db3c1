"""TensorBoard's smoothing."""

from __future__ import annotations

import itertools

import numpy as np

from nbtrain.core.values.arrays import FloatArray


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
    new = ((1 - weight) * values[finite]).tolist()
    average = np.array([*itertools.accumulate(new, lambda last, each: weight * last + each)])
    with np.errstate(under="ignore"):
        bias = 1 - weight ** np.arange(1, len(average) + 1, dtype=np.float64)
    result[finite] = average / bias
    return result
