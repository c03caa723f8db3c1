"""The range test of a learning rate: it grows at each step, and the loss tells which rates do.

sweep = RateRange(1e-6, 1.0, 200)
sweep.rate(0)              # 1e-6: the rate of the first step
sweep.add(0, 2.31)         # the loss that the first step has recorded
sweep.suggestion           # the rate at which the loss falls fastest; None if it does not fall
"""

from __future__ import annotations

import math

from nbtrain.core.errors import ArgumentError

# The part of the earlier losses in each smoothed one, and the rise above the lowest at which the
# test ends: as in fastai's and Keras's range tests, after Smith, arXiv:1506.01186.
_SMOOTHING, _RISE = 0.9, 4.0

# The loss must have fallen by this part of its first value: less is noise.
_FALL = 0.02

# The fewest steps: the first smoothed losses say little.
_FEWEST = 10


class RateRange:
    """A range test in progress.

    Args:
        low: The rate of the first step.
        high: The rate of the last step.
        steps: The number of steps.

    Raises:
        ArgumentError: The rates are not positive and in this order, or the steps too few.
    """

    def __init__(self, low: float, high: float, steps: int) -> None:
        if not 0 < low < high < math.inf:
            raise ArgumentError(
                f"The learning rate cannot grow from {low:g} to {high:g}: give two positive "
                "numbers, the lower one first, such as 1e-6, 1.0."
            )
        if steps < _FEWEST:
            raise ArgumentError(f"steps={steps}: a range test takes at least {_FEWEST}.")
        self._low, self._high, self._steps = low, high, steps
        self._smooth = 0.0
        self._first: float | None = None
        self._rates: list[float] = []
        self._losses: list[float] = []

    def rate(self, step: int) -> float:
        """Returns the rate of a step, from 0; the steps are equal parts of the logarithm."""
        part = min(step, self._steps - 1) / (self._steps - 1)
        return self._low * math.exp(part * math.log(self._high / self._low))

    def add(self, step: int, loss: float) -> bool:
        """Adds the loss that a step has recorded; tells if the test is over.

        A step computes its loss before its update: it shows the rate of the step before.
        """
        if not math.isfinite(loss):
            return True
        count = len(self._losses) + (self._first is not None) + 1
        self._smooth = _SMOOTHING * self._smooth + (1 - _SMOOTHING) * loss
        smoothed = self._smooth / (1 - _SMOOTHING**count)
        if self._first is None:
            self._first = smoothed
            return False
        self._rates.append(self.rate(step - 1))
        self._losses.append(smoothed)
        lowest = min(self._first, *self._losses)
        has_risen = smoothed - lowest > _RISE * max(abs(lowest), abs(self._first) / 10)
        return step + 1 >= self._steps or has_risen

    @property
    def curve(self) -> tuple[tuple[float, float], ...]:
        """Pairs of a rate and the smoothed loss after its step."""
        return tuple(zip(self._rates, self._losses, strict=True))

    @property
    def lowest(self) -> int | None:
        """The index in `curve` of the lowest loss; None if the loss has not fallen."""
        if self._first is None or not self._losses:
            return None
        at = min(range(len(self._losses)), key=self._losses.__getitem__)
        return at if self._losses[at] < self._first - _FALL * abs(self._first) else None

    @property
    def suggestion(self) -> float | None:
        """The rate before the lowest loss at which the smoothed loss falls fastest."""
        lowest = self.lowest
        if lowest is None:
            return None
        losses = [self._first or 0.0, *self._losses]
        falls = [losses[at] - losses[at + 1] for at in range(lowest + 1)]
        return self._rates[max(range(len(falls)), key=falls.__getitem__)]

    def text(self, name: str, tag: str) -> str:
        """Describes the result, and how it was found."""
        lowest, rate = self.lowest, self.suggestion
        if lowest is None or rate is None:
            reached = self._rates[-1] if self._rates else self._low
            return (
                f"no suggestion: {tag} did not fall for {name} {self._low:.3g} to {reached:.3g}; "
                "try other limits, or more steps"
            )
        return (
            f"suggested {name} {rate:.3g}, where the smoothed {tag} fell fastest; it was lowest "
            f"at {self._rates[lowest]:.3g} ({self._losses[lowest]:.4g}), and the test went to "
            f"{self._rates[-1]:.3g}"
        )
