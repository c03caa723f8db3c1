"""The services of a Supervisor that are due every so many steps."""

from __future__ import annotations

from collections.abc import Callable

from nbtrain.core.cadence import Every


class ByStepServices:
    """The services that are due every so many steps, called by the training thread."""

    def __init__(self, step_of: Callable[[], int | None]) -> None:
        self._step_of = step_of
        self._services: list[tuple[Every, Callable[[], object]]] = []
        self._calls, self._calls_left = 0, 0  # since the step was last read, and until the next
        self._looked: int | None = None  # the step when it was last read
        # The calls so far and the step, when the training thread was last seen outside of a call.
        self._idle: tuple[int, int] | None = None
        self._all_calls = 0

    def add(self, steps: int, act: Callable[[], object]) -> None:
        """Adds a service that is due every `steps` steps."""
        self._services.append((Every(steps=steps), act))

    def start(self, step: int) -> bool:
        """Counts from `step`; returns False if there are no services."""
        for every, _ in self._services:
            every.start(step, 0.0)
        return bool(self._services)

    def run_due(self) -> None:
        """Runs the services that are due, before a call of the training thread.

        The step is read only when a service can be due, at the speed of the calls so far.
        """
        self._calls += 1
        self._all_calls += 1
        if self._calls < self._calls_left:
            return
        step = self._step_of() or 0
        if self._looked is not None and step < self._looked:
            self.start(step)  # the program restored a checkpoint: count from there
        for every, act in self._services:
            if every(step, 0.0):
                act()
        left = min(every.next_step for every, _ in self._services) - step
        throughput = 0.0 if self._looked is None else (step - self._looked) / self._calls
        self._calls_left = 1 if self._looked is None else int(left / max(1.0, throughput))
        self._calls, self._looked = 0, step

    def are_unseen(self, step: int, in_call: bool) -> bool:
        """Returns whether a service is due at a step that another thread has trained.

        Called by another thread than the training thread.

        Args:
            in_call: Whether the training thread is in a call of the session.
        """
        last, self._idle = self._idle, None if in_call else (self._all_calls, step)
        if self._idle is None or last is None or self._idle[0] != last[0] or step <= last[1]:
            return False
        return any(every.soon(step, 0.0) for every, _ in self._services)
