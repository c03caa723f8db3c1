"""The rule by which a picture leaves outliers out, as in tests/js/shared/outliers.test.js."""

from __future__ import annotations

import numpy as np
import pytest

from nbtrain.panel.outliers import inner

MIDDLE = [number / 100 for number in range(100)]  # from 0 to 0.99


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([*MIDDLE, 3e29], (0, 0.99)),
        ([-1e9, *MIDDLE, 1e9], (0, 0.99)),
        ([-3, *MIDDLE, 4, 100], (-3, 4)),
        ([*MIDDLE, 1e308, -1e308], (0, 0.99)),
        ([*MIDDLE, 5], None),
        ([1] * 100 + [5], None),
        ([2.3, 0.9, 0.85, 0.3], None),
        ([*MIDDLE[:19], 1e9], None),
        ([*MIDDLE[:20], 1e9], (0, 0.19)),
        ([], None),
    ],
)
def test_values_far_from_the_middle_are_outliers(
    values: list[float], found: tuple[float, float] | None
) -> None:
    assert inner(np.array(values, np.float64)) == found
