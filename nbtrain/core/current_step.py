"""The current step of one attempt of a run, shared by all that count, save and restore.

A step empties the processor's caches, so each object, property and call between two steps costs a
microsecond. As long as there is nothing to do but count and record, the loop's two calls,
`should_stop` and `record`, touch only one object: a `CurrentStep`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any


class StepCounter:
    """The current step of an attempt, and the number of steps taken; training thread only.

    Attributes:
        step: Steps completed, set by the code that counts one. Any thread may read it.
        complete: Waits for steps that other processes execute, and counts them. Called before
            anything that needs the state of one step.
    """

    __slots__ = ("_origin", "complete", "step")

    def __init__(self) -> None:
        self.step = self._origin = 0
        self.complete: Callable[[], object] = _nothing

    @property
    def steps_done(self) -> int:
        """The number of steps taken, without moves of the count. Any thread may read it."""
        return self.step - self._origin

    def move_to(self, step: int) -> None:
        """Sets the step without counting one as taken, for example after a restore."""
        self._origin += step - self.step
        self.step = step


class CurrentStep(StepCounter):
    """The current step of one attempt of a run; training thread only, unless stated otherwise.

    Args:
        most_items: The number of items above which records are thinned.

    Attributes:
        next: The step at which to interrupt the loop; 0 for at once. Any thread may set it to 0.
        thread: Identity of the training thread while its own loop is between two calls of
            `should_stop`; 0 otherwise, when counting takes more than adding one.
        values: The scalars recorded for the current step; None before.
        tags: The tags of `values`: a tuple from the record queue.
        samples: Other values recorded for the current step: tag, wall time, value, and the number
            of images.
        tracked: Whether a tracked loop counts the steps, so that `should_stop` does not.
        present: The step to which the run returns from steps that it takes again, of which nothing
            is recorded; None while it takes none.
        repeated: The scalars of a step that is taken again.
    """

    __slots__ = (
        *("items", "most_items", "next", "present", "repeated", "samples", "tags", "thread"),
        *("tracked", "values"),
    )

    def __init__(self, items: deque[Any], most_items: int) -> None:
        super().__init__()
        self.next = self.thread = 0
        self.values: Sequence[Any] | None = None
        self.tags: tuple[str, ...] = ()
        self.samples: list[tuple[str, float, Any, int]] = []
        self.tracked = False
        self.present: int | None = None
        self.repeated: dict[str, Any] = {}
        self.items = items
        self.most_items = most_items

    @property
    def shown(self) -> int:
        """The step to show: the present one while steps are taken again. Any thread."""
        present = self.present
        return self.step if present is None else present

    @property
    def holds(self) -> bool:
        """True if something was recorded for the current step."""
        return bool(self.values or self.samples)

    @property
    def is_recorded(self) -> bool:
        """True if the program has recorded the current step, even without values."""
        return self.values is not None or bool(self.samples)


def _nothing() -> None:
    """Waits for nothing: the training thread executes one step after the other."""
