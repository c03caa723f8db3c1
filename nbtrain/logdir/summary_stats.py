"""Summarizes the points of a scalar: the last, the lowest, the highest and the best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nbtrain.core.values.direction import Direction
from nbtrain.logdir.series import Points


@dataclass(frozen=True, slots=True)
class Extent:
    """Statistics of points that were not abandoned; NaN if there are none.

    Attributes:
        last: The last value.
        last_step: The step of the last value.
        min: The lowest finite value.
        min_step: The first step with the lowest value.
        max: The highest finite value.
        max_step: The first step with the highest value.
        count: The number of points.
    """

    last: float
    last_step: float
    min: float
    min_step: float
    max: float
    max_step: float
    count: int

    @property
    def numbers(self) -> tuple[float, ...]:
        """All attributes in order; `dataclasses.astuple` would take longer than the statistics."""
        numbers = (self.last, self.last_step, self.min, self.min_step, self.max, self.max_step)
        return (*numbers, self.count)

    def best_step(self, direction: Direction) -> float:
        """Returns the step of the best value."""
        return self.max_step if direction is Direction.HIGHEST else self.min_step


def extent_of(points: Points) -> Extent:
    """Computes the statistics of some points."""
    kept = ~points.abandoned
    steps, values = points.steps[kept].astype(np.float64), points.values[kept]
    finite = np.flatnonzero(np.isfinite(values))
    last = min_ = max_ = (np.nan, np.nan)
    if len(values):
        last = (float(values[-1]), float(steps[-1]))
    if len(finite):
        low, high = finite[np.argmin(values[finite])], finite[np.argmax(values[finite])]
        min_ = (float(values[low]), float(steps[low]))
        max_ = (float(values[high]), float(steps[high]))
    return Extent(*last, *min_, *max_, len(values))
