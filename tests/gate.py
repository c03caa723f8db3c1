"""A gate in a training's step, which the test opens; and what else tests wait for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

# Seconds that a test waits at most; a passing one never waits for long. A shared machine may stand
# still for a minute.
SOON = 120.0


class Gate:
    """Lets the training thread pass a step only when the test allows it."""

    def __init__(self, passes: int = 0) -> None:
        self._passes = threading.Semaphore(passes)
        self._open = False
        self.arrived = threading.Semaphore(0)

    def __call__(self, _count: int = 0) -> None:
        self.arrived.release()
        if not self._open and not self._passes.acquire(timeout=SOON):
            raise TimeoutError("nobody opened the gate")

    def allow(self, steps: int = 1) -> None:
        """Let some steps pass."""
        self._passes.release(steps)

    def open(self) -> None:
        """Let everything pass from now on."""
        self._open = True
        self._passes.release(1)

    def wait_for_arrivals(self, count: int = 1) -> None:
        """Until the training thread stood at the gate this many times more."""
        for _ in range(count):
            assert self.arrived.acquire(timeout=SOON), "the training thread did not come"


def eventually(ready: Callable[[], Any]) -> Any:
    """Wait until something on disk, in another thread or process is so; the truth it tells."""
    never = threading.Event()
    for _ in range(int(SOON * 100)):
        if found := ready():
            return found
        never.wait(0.01)
    raise AssertionError("it did not come")
