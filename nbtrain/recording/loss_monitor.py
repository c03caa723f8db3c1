"""Detects a training that has gone bad: a loss that is NaN or infinite, or has jumped.

loss_monitor.observe("loss", steps, values)  # the thread that drains the records
loss_monitor.anomaly                         # the first bad value; None while all is well
loss_monitor.acknowledge()                   # the training continues anyway
loss_monitor.rewind(step)                    # a restore: later values are abandoned
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nbtrain.core.values.arrays import FloatArray, IntArray

# A loss with one of these words in its tag is not from training, and may well be NaN.
_NOT_TRAINED = frozenset({"val", "valid", "validation", "eval", "evaluation", "test", "dev"})

# The most values that determine a level, and the fewest: a single outlier must not.
_MOST, _FEWEST = 100, 20


@dataclass(frozen=True, slots=True)
class Anomaly:
    """A bad value.

    Attributes:
        step: The step at which it was seen.
        name: The tag or the variable that has it.
        text: A description.
        good: Checkpoints of steps below this one are good, as a good loss followed them.
        variable: Whether it is a variable, which can be checked again.
        jumped: Whether the value is finite, but has jumped.
    """

    step: int
    name: str
    text: str
    good: int
    variable: bool = False
    jumped: bool = False

    def __str__(self) -> str:
        """Returns the description."""
        return self.text


class LossMonitor:
    """Checks the losses of one start of a run: tags whose last word is `loss`.

    Args:
        jump: A loss this many times the median of the last ones is bad too; None ignores jumps.
            Only losses above 0 are compared.

    Attributes:
        anomaly: The first bad value since the start or the last restore. Any thread may read it.
    """

    def __init__(self, jump: float | None = None) -> None:
        self.anomaly: Anomaly | None = None
        self._jump = jump
        self._acknowledged = False
        self._watched: dict[str, bool] = {}
        self._last: dict[str, FloatArray] = {}  # good values of each tag, for its level
        self._good: dict[str, int] = {}  # the last step of a good value of each tag
        self._begun = 0  # the step of the start or the last restore

    def observe(self, tag: str, steps: IntArray, values: FloatArray) -> None:
        """Checks values of one tag, in order; one thread at a time."""
        if not self._watched.setdefault(tag, is_loss(tag)):
            return
        first, text = self._first_bad(tag, steps, values)
        good = self._good.get(tag, self._begun)
        if first:
            good = self._good[tag] = int(steps[first - 1])
        if text and self.anomaly is None:
            jumped = bool(np.isfinite(values[first]))
            self.anomaly = Anomaly(int(steps[first]), tag, text, good, jumped=jumped)
        elif not text and self._acknowledged and self.anomaly and self.anomaly.name == tag:
            self.anomaly, self._acknowledged = None, False

    def observe_variable(self, variable: Callable[[], str | None], step: int) -> None:
        """Checks the variables for NaN, unless a bad loss is known; training thread only."""
        if self.anomaly is not None and not self.anomaly.variable:
            return
        name = variable()
        if name is None:
            self.anomaly = None
        elif self.anomaly is None:
            text = f"{name} holds NaN or Inf after step {step:,}"
            good = max(self._good.values(), default=step)
            self.anomaly, self._acknowledged = Anomaly(step, name, text, good, True), False

    def acknowledge(self) -> None:
        """Ignores bad values until a good one is recorded."""
        self._acknowledged, self._last = True, {}

    def rewind(self, step: int) -> None:
        """Starts again from this step."""
        self.anomaly, self._acknowledged, self._begun = None, False, step
        self._last, self._good = {}, {}

    def _first_bad(self, tag: str, steps: IntArray, values: FloatArray) -> tuple[int, str]:
        """Returns index and description of the first bad value; their number and "" for none."""
        finite = np.isfinite(values)
        first = len(values) if finite.all() else int(finite.argmin())
        if self._jump is not None:
            index, level = self._first_jump(tag, values[:first])
            if index < first:
                return index, (
                    f"{tag} jumped from about {level:.4g} to {values[index]:.4g} at step "
                    f"{steps[index]:,}"
                )
        if first == len(values):
            return first, ""
        word = "NaN" if np.isnan(values[first]) else "infinite"
        return first, f"{tag} was {word} at step {steps[first]:,}"

    def _first_jump(self, tag: str, values: FloatArray) -> tuple[int, float]:
        """Returns the index of the first value above its level times the factor, and the level."""
        assert self._jump is not None, "asked by whoever knows"
        last = self._last.get(tag, values[:0])
        known = np.concatenate([last, values])
        levels = np.repeat(_levels(known, len(last)), _FEWEST)[: len(values)]
        jumped = (levels > 0) & (values > self._jump * levels)
        first = int(jumped.argmax()) if jumped.any() else len(values)
        self._last[tag] = known[: len(last) + first][-_MOST:]
        return first, float(levels[first]) if first < len(values) else 0.0


def _levels(known: FloatArray, begin: int) -> FloatArray:
    """Returns the median of the values before each few from an index on; NaN if too few."""
    begins = range(begin, len(known), _FEWEST)
    first = [
        float(np.median(known[:at])) if at >= _FEWEST else np.nan for at in begins if at < _MOST
    ]
    rest = begins[len(first) :]
    if not rest:
        return np.array(first)
    windows = np.lib.stride_tricks.sliding_window_view(known, _MOST)
    ends = windows[rest[0] - _MOST :: _FEWEST][: len(rest)]
    return np.concatenate([first, np.median(ends, axis=1)])


def is_loss(tag: str) -> bool:
    """Returns whether a tag is that of a training loss: "loss", "batch_loss", "train/loss"."""
    words = re.findall(r"[^\W_]+", tag.lower())
    return words[-1:] == ["loss"] and _NOT_TRAINED.isdisjoint(words)
