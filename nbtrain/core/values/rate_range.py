"""The range test of a learning rate: it grows at each step, and the loss shows which rates work.

sweep = RateRange(1e-6, 1.0, 200)
sweep.rate(0)              # 1e-6: the rate of the first step
sweep.add(0, 2.31)         # the loss that the first step has recorded
sweep.suggestion           # the rate at which the loss falls fastest; None if it does not fall
"""

from __future__ import annotations

import itertools
import math
import statistics

from nbtrain.core.errors import ArgumentError

# The part of the earlier losses in each smoothed one, and the rise above the lowest at which the
# test ends: as in fastai's and Keras's range tests, after Smith, arXiv:1506.01186.
_SMOOTHING, _RISE = 0.9, 4.0

# The loss must have fallen by this part of its first value, and by this multiple of the difference
# of two batches: less is noise. With 1, 4 of 300 tests whose loss did not fall had a suggestion;
# with 1.25, none.
_FALL, _NOISE = 0.02, 1.25

# The fewest losses. Each step has one, unless several steps are executed at once.
_FEWEST = 10

# The steps after which a smoothed loss is no longer that of a few batches, as in fastai.
_SETTLED = 10


def no_range(low: str, high: str) -> ArgumentError:
    """Returns the error for two limits, in words, between which no rate can grow."""
    return ArgumentError(
        f"The learning rate cannot grow from {low} to {high}: give two positive numbers, the "
        "lower one first, such as 1e-6, 1.0."
    )


def not_recorded(tag: str, step: int) -> str:
    """Describes why a test has ended at a step that has not recorded its loss."""
    return f"no suggestion: step {step:,} has recorded no {tag!r}, which each step of a test must"


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
            raise no_range(f"{low:g}", f"{high:g}")
        if steps < _FEWEST:
            raise ArgumentError(f"steps={steps}: a range test takes at least {_FEWEST}.")
        self._low, self._high, self._steps = low, high, steps
        self._smooth = 0.0
        self._begins = [0]  # the first step of each loss and of the next
        self._raw: list[float] = []
        self._losses: list[float] = []
        self._least = -1, math.inf  # an index, and the lowest loss from there on

    def rate(self, step: int) -> float:
        """Returns the rate of a step, from 0; the steps are equal parts of the logarithm."""
        part = min(step, self._steps - 1) / (self._steps - 1)
        return self._low * math.exp(part * math.log(self._high / self._low))

    def add(self, step: int, loss: float) -> bool:
        """Adds the loss that a step has recorded; returns whether the test is over.

        A step computes its loss before its update, so the loss shows the effect of the rate of the
        step before. Steps that are executed together have one loss and one rate, and the last of
        them records the loss.
        """
        if not math.isfinite(loss):
            return True
        self._raw.append(loss)
        self._smooth = _SMOOTHING * self._smooth + (1 - _SMOOTHING) * loss
        self._begins.append(step + 1)
        if len(self._raw) == 1:
            return False
        self._losses.append(self._smooth / (1 - _SMOOTHING ** len(self._raw)))
        return step + 1 >= self._steps or self._has_too_few or self._has_risen()

    @property
    def _rates(self) -> list[float]:
        """The rate of the steps before each smoothed loss."""
        return [self.rate(step) for step in self._begins[: len(self._losses)]]

    @property
    def _window(self) -> int:
        """The number of losses before a rate, and after it, that show how fast the loss falls."""
        return max(1, self._count // 10)

    @property
    def _from(self) -> int:
        """The index in `curve` from which the smoothed loss has settled."""
        return max(min(_SETTLED, self._count // 4), self._window) - 1

    @property
    def _count(self) -> int:
        """The number of losses of a whole test: fewer than its steps if several run at once."""
        return self._steps * len(self._raw) // max(1, self._begins[-1])

    @property
    def _has_too_few(self) -> bool:
        return bool(self._raw) and self._count < _FEWEST

    def _has_risen(self) -> bool:
        """Returns whether the newest loss is far above the lowest; called once with each loss."""
        begin, last = self._from, self._losses[-1]
        known, lowest = self._least
        if begin >= len(self._losses):
            self._least = -1, math.inf
            return False
        lowest = min(lowest, last) if begin == known else min(self._losses[begin:])
        self._least = begin, lowest
        return last - lowest > _RISE * max(abs(lowest), abs(self._losses[begin]) / 10)

    @property
    def curve(self) -> tuple[tuple[float, float], ...]:
        """Pairs of a rate and the smoothed loss after its step."""
        return tuple(zip(self._rates, self._losses, strict=True))

    @property
    def lowest(self) -> int | None:
        """The index in `curve` of the lowest loss; None if no loss is clearly lower than others."""
        if self._has_too_few or len(self._losses) <= self._from:
            return None
        first = statistics.fmean(self._raw[: self._from + 1])
        at = min(range(self._from, len(self._losses)), key=self._losses.__getitem__)
        raw = self._raw[: at + 2]
        noise = statistics.fmean(abs(after - loss) for loss, after in itertools.pairwise(raw))
        fall = max(_FALL * abs(first), _NOISE * noise)
        return at if self._losses[at] < first - fall else None

    @property
    def suggestion(self) -> float | None:
        """The rate before the lowest loss at which the loss falls fastest.

        The means of the losses before and after each rate are compared: from one step to the next,
        even a smoothed loss falls most where its batches differ most.
        """
        lowest, window = self.lowest, self._window
        if lowest is None:
            return None
        last = max(self._from, min(lowest, len(self._losses) - window))
        sums = [0.0, *itertools.accumulate(self._raw)]

        def fall(at: int) -> float:
            begin, now, end = at + 1 - window, at + 1, min(at + 1 + window, len(self._raw))
            return (sums[now] - sums[begin]) / window - (sums[end] - sums[now]) / (end - now)

        return self._rates[max(range(self._from, last + 1), key=fall)]

    def text(self, name: str, tag: str) -> str:
        """Describes the result, and how it was found."""
        if self._has_too_few:
            at_once = self._begins[-1] / len(self._raw)
            return (
                f"no suggestion: {self._steps} steps have about {self._count} losses, because "
                f"{at_once:.3g} are executed at once, and a range test takes at least {_FEWEST}; "
                f"give steps={math.ceil(_FEWEST * at_once)} or more, or a smaller "
                "steps_per_execution to model.compile"
            )
        lowest, rate = self.lowest, self.suggestion
        if lowest is None or rate is None:
            reached = self._rates[-1] if self._rates else self._low
            return (
                f"no suggestion: {tag} did not fall for {name} {self._low:.3g} to {reached:.3g}; "
                "try other limits, or more steps"
            )
        return (
            f"suggested {name} {rate:.3g}, where {tag} fell fastest; smoothed, it was lowest "
            f"at {self._rates[lowest]:.3g} ({self._losses[lowest]:.4g}), and the test went to "
            f"{self._rates[-1]:.3g}"
        )
