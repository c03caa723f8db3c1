"""The step at hand: all that a training thread touches at each step, in one object.

A step has emptied the processor's caches: each object, property and call between two steps then
costs a microsecond. So the loop's two calls, `should_stop` and `record`, read and write this
object and nothing else, as long as nothing has to be done but to count and to record.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from nbtrain.core.step_counter import StepCounter


class AtHand(StepCounter):
    """The step at hand of one life of a run; training thread only, where nothing else is said.

    Args:
        items: What waits in the run's record queue.
        most_items: Beyond so many, records are thinned.

    Attributes:
        next: Step at which to look up from the loop; 0: at once. Any thread may set it to 0.
        thread: Identity of the training thread while its own loop is between two calls of
            `should_stop`; 0 where it is not, and counting takes more than adding one.
        values: Of the scalars that were recorded for the step at hand; None before that.
        tags: Of these values: a tuple that the record queue gave.
        items: As given.
        most_items: As given.
    """

    __slots__ = ("items", "most_items", "next", "tags", "thread", "values")

    def __init__(self, items: deque[Any], most_items: int) -> None:
        super().__init__()
        self.next = self.thread = 0
        self.values: Sequence[Any] | None = None
        self.tags: tuple[str, ...] = ()
        self.items = items
        self.most_items = most_items
