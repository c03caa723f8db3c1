"""Smoothing: TensorBoard's debiased moving average, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from nbtrain.core.arrays import FloatArray
from nbtrain.recording.smoothing import smoothed


def as_tensorboard(values: FloatArray, weight: float) -> list[float]:
    """The loop of TensorBoard's line chart (vz_line_chart2, resmoothDataset), value by value."""
    last, count, result = 0.0, 0, []
    for value in values.tolist():
        if np.isfinite(value):
            last, count = last * weight + (1 - weight) * value, count + 1
            value = last / (1 - weight**count)
        result.append(value)
    return result


@pytest.mark.parametrize("weight", [0.0, 0.1, 0.6, 0.99, 0.999])
@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 1000])
def test_it_is_tensorboards_average(weight: float, count: int) -> None:
    values = np.random.default_rng(count).normal(3, 2, count)
    np.testing.assert_allclose(smoothed(values, weight), as_tensorboard(values, weight), rtol=1e-9)


def test_what_is_not_finite_stays_and_takes_no_part() -> None:
    values = np.array([np.nan, 1.0, np.inf, 2.0, -np.inf, 3.0])
    np.testing.assert_allclose(smoothed(values, 0.5), as_tensorboard(values, 0.5))


def test_the_values_given_are_left_as_they_are() -> None:
    values = np.array([1.0, 2.0])
    smoothed(values, 0.9)
    assert values.tolist() == [1.0, 2.0]
