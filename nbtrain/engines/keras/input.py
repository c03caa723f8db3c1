"""Measures how long a Keras fit waits for batches, which it draws inside its compiled step.

No Python clock can tell drawing from training there. But `tf.data` measures, for its autotuning,
the gaps between two batches during which it was not asked; the rest of the time it was. It does not
measure the gap before the first batch. Nothing is known of an execution that traces the step, which
happens before it draws.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

import tensorflow as tf

# The number of batches for which `tf.data` remembers the gaps before them.
_GAPS = 100

# The longest gap that it remembers.
_LONGEST_GAP_SECS = 10.0


class InputWaits:
    """Measures waiting for `TimeUsage.waits`.

    Args:
        size: Batches of an execution.
        clock: Returns the time in seconds.
    """

    def __init__(self, size: int, clock: Callable[[], float] = time.perf_counter) -> None:
        self._size = size
        self._clock = clock
        # An iterator and the start times of the executions that drew from it, as many as gaps are
        # kept.
        self._drawn: tuple[Any, deque[float]] = None, deque(maxlen=_GAPS // size + 1)
        self._told_until: float | None = None  # start of the last execution accounted for
        self._loop_secs = 0.0  # time in the loop since then
        self._share: float | None = None  # fraction of it spent waiting, as last measured
        self._over = self._unknown = self._traces = False

    def begin(self, iterator: Any) -> None:
        """Notes the start of an execution that draws from this iterator; training thread only."""
        now = self._clock()
        if iterator is not self._drawn[0]:
            self._drawn = iterator, deque(maxlen=self._drawn[1].maxlen)
        if self._told_until is None or self._traces:
            self._told_until, self._traces = now, False
        self._drawn[1].append(now)

    def traces(self) -> None:
        """Notes that the execution traces the step; training thread, or one that it waits for."""
        self._traces = True

    def let_go(self) -> None:
        """Drops the iterator when the fit is over; training thread only."""
        self._over, self._drawn = True, (None, deque())

    def __call__(self, loop_secs: float) -> float | None:
        """Returns the seconds spent waiting, as known so far; None if they cannot be known.

        If there were more executions than `tf.data` remembers, the newest stand for all.
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
        if len(new) < 2:  # an iterator measures nothing before its first draw is over
            return 0.0
        if (gaps := _gaps(iterator)) is None:
            self._unknown = True
            return None
        if not gaps:  # autotuning sometimes drops them: later gaps will stand for these
            return None if new[-1] - new[-2] >= _LONGEST_GAP_SECS else 0.0
        loop_secs = min(self._loop_secs, new[-1] - since)
        if new[-1] - since - loop_secs >= _LONGEST_GAP_SECS:  # such as a pause: no gap shows it
            new = _after_the_longest(new)
        self._told_until, self._loop_secs = new[-1], 0.0
        count = min(len(new) - 1, len(gaps) // self._size)
        span = new[-1] - new[-1 - count]
        waited = max(0.0, span - sum(gaps[-count * self._size :])) if count else 0.0
        self._share = waited / span if span > 0 else 0.0
        return self._share * loop_secs


def _gaps(iterator: Any) -> list[float] | None:
    """Seconds between two draws, the newest last; None if they are not measured."""
    if not isinstance(iterator, tf.data.Iterator):
        return None  # a distributed iterator consists of several
    try:
        model = tf.data.experimental.get_model_proto(iterator)
    except (AttributeError, tf.errors.OpError):  # an older TensorFlow; autotuning is off
        return None
    return [gap / 1e6 for gap in model.gap_times]


def _after_the_longest(times: list[float]) -> list[float]:
    """The times after the longest interval between two of them."""
    return times[max(range(1, len(times)), key=lambda at: times[at] - times[at - 1]) :]
