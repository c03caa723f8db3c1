"""Smoothing equals TensorBoard's debiased moving average."""

from __future__ import annotations

import numpy as np
import pytest

from nbtrain.core.values.arrays import FloatArray
from nbtrain.recording.smoothing import smoothed


def as_tensorboard(values: FloatArray, weight: float) -> list[float]:
    """Smooths like TensorBoard's line chart (vz_line_chart2, resmoothDataset)."""
    last, count, result = 0.0, 0, []
    for value in values.tolist():
        if np.isfinite(value):
            last, count = last * weight + (1 - weight) * value, count + 1
            value = last / (1 - weight**count)
        result.append(value)
    return result


@pytest.mark.parametrize("weight", [0.0, 0.1, 0.6, 0.99, 0.999])
@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 1000])
def test_the_average_equals_tensorboards(weight: float, count: int) -> None:
    values = np.random.default_rng(count).normal(3, 2, count)
    np.testing.assert_allclose(smoothed(values, weight), as_tensorboard(values, weight), rtol=1e-9)


def test_nan_and_infinity_stay_and_do_not_affect_the_average() -> None:
    values = np.array([np.nan, 1.0, np.inf, 2.0, -np.inf, 3.0])
    np.testing.assert_allclose(smoothed(values, 0.5), as_tensorboard(values, 0.5))


def test_the_given_values_are_not_changed() -> None:
    values = np.array([1.0, 2.0])
    smoothed(values, 0.9)
    assert values.tolist() == [1.0, 2.0]
