"""Judges a recorded scalar: its best value, and how long it has not improved.

monitor.observe("val_loss", steps, values)  # each drain of the records
monitor.better                              # a value that is better than the best
monitor.keep()                              # it is the best from now on: its state was saved
monitor.is_over                             # `patience` values in a row were no better
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from nbtrain.core.values.arrays import FloatArray, IntArray
from nbtrain.core.values.direction import Direction, Directions
from nbtrain.core.values.side_tags import WHOLE

# The prefix of a scalar that Keras reports at the end of an epoch.
_EPOCH = "epoch_"
# Values of any other scalar whose mean is judged, as the value of one batch says little.
WINDOW = 100
# A scalar that was never recorded is reported after this many values of other scalars.
_MANY = 1000
# The most names of other scalars to report.
_MOST_NAMES = 8
# The most values to report that were not better.
_MOST_VALUES = 5


@dataclass(frozen=True, slots=True)
class Judged:
    """A judged value of the scalar.

    Attributes:
        step: Its step, or the last step of the mean.
        value: The value, or the mean.
    """

    step: int
    value: float

    def __str__(self) -> str:
        """Returns `0.1234 at step 1,240`."""
        return f"{self.value:.4g} at step {self.step:,}"


class BestMonitor:
    """Judges one scalar of a run; one thread at a time, except for its attributes.

    Args:
        tag: The name of the scalar; `val_loss` also means the `epoch_val_loss` of a Keras fit.
        direction: Whether its highest or its lowest value is the best.
        patience: Judged values in a row that may be no better; None allows any number.

    Attributes:
        best: The best value whose state was saved; None before.
        better: A later value that is better than `best`; None if there is none.
        worse: The last judged values since then, the newest last; at most five.
    """

    def __init__(self, tag: str, direction: Direction, patience: int | None = None) -> None:
        self.tag, self.direction, self.patience = tag, direction, patience
        self.best: Judged | None = None
        self.better: Judged | None = None
        self.worse: deque[float] = deque(maxlen=_MOST_VALUES)
        self._came = False  # the scalar was recorded, in any segment
        self._others: dict[str, None] = {}  # other scalars
        self._passed = 0  # their values
        self._last: int | None = None  # the step judged last
        self._without = 0  # judged values since one was better
        self._window: list[float] = []

    @property
    def is_over(self) -> bool:
        """True if the scalar has not improved for too long."""
        return self.patience is not None and self._without >= self.patience

    def is_about(self, tags: Iterable[str]) -> bool:
        """Returns whether one of these scalars is the judged one."""
        return any(tag in (self.tag, _EPOCH + self.tag) for tag in tags)

    def is_whole(self, tags: Iterable[str]) -> bool:
        """Returns whether one of these scalars is the judged one and each value of it is judged."""
        return any(self.is_about((tag,)) and tag.startswith(WHOLE) for tag in tags)

    def missed(self, *, at_end: bool = False) -> str | None:
        """Returns the names of other scalars if the judged one is not recorded, otherwise None."""
        if self._came or self.best is not None or not self._others:
            return None
        if not at_end and self._passed < _MANY:
            return None
        return ", ".join(map(repr, self._others))

    def observe(self, tag: str, steps: IntArray, values: FloatArray) -> None:
        """Judges recorded values.

        Args:
            tag: Their tag.
            steps: Their steps, of shape (n,).
            values: The values, of shape (n,).
        """
        if not self.is_about((tag,)):
            self._passed += len(values)
            if len(self._others) < _MOST_NAMES:
                self._others[tag] = None
            return
        self._came = True
        if tag.startswith(WHOLE):
            for step, value in zip(steps, values, strict=True):
                self._judge(int(step), float(value))
        else:
            for step, value in zip(steps, values, strict=True):
                self._window.append(float(value))
                if len(self._window) == WINDOW:
                    self._judge(int(step), float(np.mean(self._window)))
                    self._window.clear()

    def recall(self, entry: Mapping[str, object]) -> None:
        """Reads the best value from a line of an earlier start that judged in the same way."""
        value, step = entry.get("value"), entry.get("judged")
        # Earlier versions judged by the name alone, and wrote no direction.
        direction = entry.get("direction", Directions().of(self.tag))
        if (entry.get("tag"), direction) != (self.tag, self.direction):
            return
        if isinstance(value, float) and isinstance(step, int):
            self.best = Judged(step, value)

    def keep(self) -> None:
        """Makes the better value the best: its state was handled."""
        self.best, self.better = self.better, None

    def rewind(self) -> None:
        """Starts counting again: the run was rewound, or continues from a checkpoint."""
        self.better, self._last, self._without = None, None, 0
        self.worse.clear()
        self._window.clear()

    def _judge(self, step: int, value: float) -> None:
        if step == self._last:  # the same value under its other name
            return
        self._last = step
        before = self.better or self.best
        if math.isfinite(value) and (before is None or self.direction.prefers(value, before.value)):
            self.better, self._without = Judged(step, value), 0
            self.worse.clear()
        else:
            self._without += 1
            self.worse.append(value)
