"""How long a Keras fit waits for its batches, which it draws inside its compiled step.

There no clock of Python's can tell drawing from training. But `tf.data` measures, for its
autotuning, how long it was not asked between two batches; the rest of the time it was. Not
before the first: of an execution that traces the step, which it does before it draws, nothing
is known.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

import tensorflow as tf

# Of as many batches `tf.data` remembers the gaps before them.
_GAPS = 100

# Longer ones it does not remember.
_LONGEST_GAP_SECS = 10.0


class InputWaits:
    """What `TimeUsage.waits` is given of a fit.

    Args:
        size: Batches of an execution.
        clock: Gives the time in seconds.
    """

    def __init__(self, size: int, clock: Callable[[], float] = time.perf_counter) -> None:
        self._size = size
        self._clock = clock
        # An iterator, and when the executions began that draw from it: of a size with the gaps.
        self._drawn: tuple[Any, deque[float]] = None, deque(maxlen=_GAPS // size + 1)
        self._told_until: float | None = None  # begin of the last execution that was accounted for
        self._loop_secs = 0.0  # of the loop since then
        self._share: float | None = None  # of the loop that it waited, by the last measurement
        self._over = self._unknown = self._traces = False

    def begin(self, iterator: Any) -> None:
        """An execution begins, which draws from this iterator; training thread only."""
        now = self._clock()
        if iterator is not self._drawn[0]:
            self._drawn = iterator, deque(maxlen=self._drawn[1].maxlen)
        if self._told_until is None or self._traces:
            self._told_until, self._traces = now, False
        self._drawn[1].append(now)

    def traces(self) -> None:
        """The execution traces the step; training thread, or one that it waits for."""
        self._traces = True

    def let_go(self) -> None:
        """The fit is over: hold no iterator any more; training thread only."""
        self._over, self._drawn = True, (None, deque())

    def __call__(self, loop_secs: float) -> float | None:
        """Seconds it has waited, as far as it is known by now; None where it cannot be known.

        Of more executions than `tf.data` remembers, the newest stand for all.
        """
        self._loop_secs += loop_secs
        iterator, drawn = self._drawn
        begun = list(drawn)
        if self._unknown or self._size > _GAPS:
            return None
        if self._traces and not self._over:
            self._loop_secs = 0.0
            return None
        if self._over:
            loop_secs, self._loop_secs = self._loop_secs, 0.0
            return None if self._share is None else self._share * loop_secs
        since = self._told_until or 0.0
        new = [began for began in begun if began >= since]
        if len(new) < 2:  # before its first draw is over, an iterator measures nothing
            return 0.0
        if (gaps := _gaps(iterator)) is None:
            self._unknown = True
            return None
        if not gaps:  # autotuning forgets them now and then: what comes will stand for these
            return None if new[-1] - new[-2] >= _LONGEST_GAP_SECS else 0.0
        loop_secs = min(self._loop_secs, new[-1] - since)
        if new[-1] - since - loop_secs >= _LONGEST_GAP_SECS:  # such as a pause: no gap tells of it
            new = _after_the_longest(new)
        self._told_until, self._loop_secs = new[-1], 0.0
        count = min(len(new) - 1, len(gaps) // self._size)
        span = new[-1] - new[-1 - count]
        waited = max(0.0, span - sum(gaps[-count * self._size :])) if count else 0.0
        self._share = waited / span if span > 0 else 0.0
        return self._share * loop_secs


def _gaps(iterator: Any) -> list[float] | None:
    """Seconds between two draws, the newest last; None where they are not measured."""
    if not isinstance(iterator, tf.data.Iterator):
        return None  # a distributed one is several
    try:
        model = tf.data.experimental.get_model_proto(iterator)
    except (AttributeError, tf.errors.OpError):  # an older TensorFlow; autotuning is off
        return None
    return [gap / 1e6 for gap in model.gap_times]


def _after_the_longest(times: list[float]) -> list[float]:
    """Those after the longest time between two of them."""
    return times[max(range(1, len(times)), key=lambda at: times[at] - times[at - 1]) :]
