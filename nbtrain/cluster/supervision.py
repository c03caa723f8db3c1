"""Restarts tasks that have died, a few times each."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable

from nbtrain.cluster.description import TaskAddress

# Seconds between two polls of the processes.
_POLL_SECS = 0.2
# Most restarts of one task, and seconds before the first; the wait doubles with each restart.
_MOST_RESTARTS = 5
_FIRST_WAIT_SECS = 0.2


class Supervision:
    """A thread that restarts tasks that have died.

    Args:
        died: Returns the tasks that have died.
        revive: Restarts a task.
    """

    def __init__(
        self, died: Callable[[], Iterable[TaskAddress]], revive: Callable[[TaskAddress], object]
    ) -> None:
        self._died, self._revive = died, revive
        self._restarts: dict[TaskAddress, int] = {}
        self._due: dict[TaskAddress, float] = {}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="nbtrain cluster", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread, so that no task is restarted any more, and waits for its end."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def _watch(self) -> None:
        while not self._stopped.wait(_POLL_SECS):
            now = time.monotonic()
            for task in self._died():
                made = self._restarts.get(task, 0)
                if made == _MOST_RESTARTS:
                    continue
                if now >= self._due.setdefault(task, now + _FIRST_WAIT_SECS * 2**made):
                    del self._due[task]
                    self._restarts[task] = made + 1
                    self._revive(task)
