"""Measures the time of a training thread by kind.

time_usage.begin()                     # at the first step boundary
with time_usage.during("save"):        # around work outside of the loop
    ...
time_usage.waits = DrawTimes(batches)  # if the waits for input can be measured
time_usage.update()                    # now and then, by another thread: `seconds` and `shares`
time_usage.end()
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

# The kinds of time; LOOP is divided into the three kinds after it.
LOOP = "loop"
STEP, INPUT, STEP_AND_INPUT = "step", "input", "step and input"
EVALUATE, SAVE, RESTORE, PAUSED = "evaluate", "save", "restore", "paused"
ASKED = "questions"  # the experiments that answer questions about the run
KINDS = (STEP, INPUT, STEP_AND_INPUT, EVALUATE, SAVE, RESTORE, ASKED, PAUSED)

# The number of updates that the shares cover: ten seconds, at one update per second.
WINDOW_LOOKS = 10

# Returns the seconds that the loop has waited for input.
Waits = Callable[[], float]


class TimeUsage:
    """The seconds of one training thread, by kind.

    Attributes:
        seconds: Seconds since `begin` by kind, as of the last update; any thread.
        shares: Shares of the time of the last updates by kind, with sum 1; empty at first.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds: Mapping[str, float] = {}
        self.shares: Mapping[str, float] = {}
        self._clock = clock
        self._lock = threading.Lock()  # protects the next ones
        self._waits: Waits | None = None
        self._waited_before = 0.0  # seconds of the waits of earlier loops, less those of questions
        self._spent: defaultdict[str, float] = defaultdict(float)
        self._at: tuple[str, float] | None = None  # the current kind, and since when
        self._at_question: float | None = None  # seconds of waits before a question; None without
        self._looks: deque[Mapping[str, float]] = deque(maxlen=WINDOW_LOOKS + 1)

    def begin(self) -> None:
        """Starts counting with the loop; training thread only, like all methods but `update`."""
        with self._lock:
            self._at = LOOP, self._clock()

    def end(self) -> None:
        """Stops counting."""
        with self._lock:
            self._switch_to(LOOP)
            self._at = None

    @contextlib.contextmanager
    def during(self, kind: str) -> Iterator[None]:
        """Counts the time inside the block as this kind, except nested blocks."""
        before = self.switch_to(kind)
        try:
            yield
        finally:
            self.switch_to(before)

    @contextlib.contextmanager
    def asked(self) -> Iterator[None]:
        """Counts the time inside the block as that of questions, also its waits for input."""
        before = self._at_question = self._waited()
        try:
            with self.during(ASKED):
                yield
        finally:
            with self._lock:
                self._waited_before -= self._waited() - before
                self._at_question = None

    @property
    def waits(self) -> Waits | None:
        """Measures the waits of the loop for input; those of earlier loops count too.

        None if that is not possible, as in Keras's `fit`, which draws the batches in its compiled
        step.
        """
        return self._waits

    @waits.setter
    def waits(self, waits: Waits | None) -> None:
        with self._lock:
            self._waited_before, self._waits = self._waited(), waits

    def _waited(self) -> float:
        """Returns the seconds that loops have waited for input."""
        return self._waited_before + (0.0 if self._waits is None else self._waits())

    @property
    def kind(self) -> str | None:
        """The kind of the time now; None before the loop and after it. Any thread."""
        at = self._at
        return None if at is None else at[0]

    def switch_to(self, kind: str) -> str:
        """Sets the kind of the time from now on; returns the previous kind."""
        with self._lock:
            return self._switch_to(kind)

    def update(self, *, whole: bool = False) -> None:
        """Updates `seconds` and `shares`; one thread, other than the training thread.

        Args:
            whole: Whether the shares cover the whole time instead of the last updates.
        """
        with self._lock:
            if self._at is not None:
                self._switch_to(self._at[0])
            spent = self._spent.copy()
            before = self._at_question
            waited = self._waited() if before is None else before
        if not spent:
            return
        self.seconds = now = self._by_kind(spent, waited)
        self._looks.append(now)
        if len(self._looks) > 1 or whole:
            self.shares = _parts(now, {} if whole else self._looks[0])

    def _switch_to(self, kind: str) -> str:
        if self._at is None:  # before the first step boundary, or after the last
            return kind
        before, since = self._at
        self._at = kind, self._clock()
        self._spent[before] += max(0.0, self._at[1] - since)
        return before

    def _by_kind(self, spent: defaultdict[str, float], waited: float) -> dict[str, float]:
        """Returns seconds by kind, with the loop divided into steps and input if known."""
        loop = spent.pop(LOOP, 0.0)
        if self._waits is None:
            spent[STEP_AND_INPUT] = loop
        else:
            spent[INPUT] = min(max(0.0, waited), loop)
            spent[STEP] = loop - spent[INPUT]
        return {kind: spent[kind] for kind in KINDS if spent[kind] > 0}


class DrawTimes(Iterator[Any]):
    """An iterator that measures its draws, for `TimeUsage.waits`.

    Args:
        iterator: The iterator; one thread draws from it, another may ask at the same time.
    """

    def __init__(
        self, iterator: Iterator[Any], clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._iterator = iterator
        self._clock = clock
        self._secs = 0.0
        self._began: float | None = None  # when the current draw began

    def __next__(self) -> Any:
        """Returns the next element."""
        clock = self._clock
        self._began = began = clock()
        try:
            return next(self._iterator)
        finally:
            self._began = None
            self._secs += clock() - began

    def __call__(self) -> float:
        """Returns the seconds of all draws, including the current one."""
        secs, began = self._secs, self._began
        return secs if began is None else secs + self._clock() - began


def _parts(now: Mapping[str, float], then: Mapping[str, float]) -> dict[str, float]:
    """Returns the shares of the time spent since `then`, with sum 1."""
    spent = {kind: max(0.0, secs - then.get(kind, 0.0)) for kind, secs in now.items()}
    total = sum(spent.values())
    return {kind: secs / total for kind, secs in spent.items() if secs > 0} if total > 0 else {}
