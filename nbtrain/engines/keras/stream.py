"""A generator to fit a model on: its batches come once."""

from __future__ import annotations

import collections
import itertools
import threading
from collections.abc import Iterator
from typing import Any

from nbtrain.engines.keras.data import Data


class Stream(Data):
    """A generator: its place is how many batches have been drawn from it.

    What was drawn ahead and not trained is given again in the next life of the run; a
    generator of another kernel is drawn from up to the place.

    Args:
        batches: It.
        steps: Batches of an epoch; None where one epoch is all of it.
        size: Batches of an execution.
    """

    kept = True
    why = "a generator cannot go back: its batches go on where they were"

    def __init__(self, batches: Any, steps: int | None, size: int) -> None:
        super().__init__(None, steps, size)
        self._batches = batches
        self._ahead: collections.deque[Any] = collections.deque()  # drawn, perhaps not trained
        self._first = 0  # the number of the first of them
        self._next = 0  # the number of the batch to train next
        # Of an iterator that is left, TensorFlow's thread may be drawing still.
        self._drawing = threading.Lock()

    def arguments(self, epoch: int, batch: int) -> dict[str, Any]:
        """A generator that begins with this batch, or as near to it as it can."""
        number = epoch * (self.steps or 0) + batch
        with self._drawing:
            self._drop(number)
            while self._first < number and self._draw():
                self._drop(number)
            self.kept = self._first <= number
            self._next = max(self._first, number)
        return {"x": self._from(self._next), **self._more}

    def first(self) -> Any:
        """The first batch, which is given again."""
        with self._drawing:
            return self._ahead[0] if self._ahead or self._draw() else None

    def draw_from(self, iterator: Any, count: int) -> Any:
        """Let go of what was trained before."""
        with self._drawing:
            self._drop(self._next)
        self._next += count
        return iterator

    def pass_over(self, iterator: Any) -> None:
        """Nothing: it begins with the batch to train."""

    def _from(self, number: int) -> Iterator[Any]:
        for at in itertools.count(number):
            with self._drawing:
                if at - self._first >= len(self._ahead) and not self._draw():
                    return
                batch = self._ahead[max(0, at - self._first)]
            yield batch

    def _draw(self) -> bool:
        """Draw one more; whether there was one."""
        found = [*itertools.islice(self._batches, 1)]
        self._ahead += found
        return bool(found)

    def _drop(self, number: int) -> None:
        """Let go of those before this one."""
        while self._ahead and self._first < number:
            self._ahead.popleft()
            self._first += 1
