"""A generator as training data, whose batches come only once."""

from __future__ import annotations

import collections
import itertools
import threading
from collections.abc import Iterator
from typing import Any

from nbtrain.keras.data.data import Data, DataSample


class Stream(Data):
    """A generator; its position is the number of batches drawn from it.

    Batches that were drawn ahead but not trained are used in the next start of the run. In another
    kernel, a new generator is drawn from up to the position.
    """

    inexact = None
    one_way = "a generator cannot go back"
    sample: DataSample
    repeats = (
        "A new generator is drawn from up to the batch: have it make its random numbers from a "
        "fixed seed, such as np.random.default_rng(1)."
    )

    def __init__(self, batches: Any, steps: int | None, size: int) -> None:
        super().__init__(None, steps, size)
        self._batches = batches
        self.sample = DataSample()
        self._ahead: collections.deque[Any] = collections.deque()  # drawn, perhaps not trained
        self._first = 0  # the number of the first of them
        self._next = 0  # the number of the batch to train next
        self._marked = 0  # the number of the first batch that was trained in the epoch
        # Protects the batches: TensorFlow's thread may still draw from an iterator of an ended fit.
        self._drawing = threading.Lock()

    def arguments(self, epoch: int, batch: int) -> dict[str, Any]:
        """Returns a generator that begins with this batch, or as close to it as possible."""
        number = (self.place(epoch)[1] if self._steps else 0) + batch
        with self._drawing:
            self._drop(number)
            while self._first < number and self._draw():
                self._drop(number)
            self.inexact = None
            if self._first > number:
                self.inexact = f"{self.one_way}: its batches go on where they were"
            self._next = max(self._first, number)
        return {"x": self._from(self._next), **self._more}

    def spec(self) -> Any:
        """Returns the first batch, which will be returned again."""
        with self._drawing:
            return self._ahead[0] if self._ahead or self._draw() else None

    def begin(self, epoch: int, batch: int) -> None:
        """Sets the next batch to train, which will be compared after a restart."""
        super().begin(epoch, batch)
        self._marked = self._next

    def draw_from(self, iterator: Any, count: int) -> Any:
        """Drops batches that were trained before."""
        with self._drawing:
            self._drop(self._next)
        self._next += count
        return iterator

    def skip(self, iterator: Any) -> None:
        """Does nothing: the generator begins with the batch to train."""

    def _from(self, number: int) -> Iterator[Any]:
        for at in itertools.count(number):
            with self._drawing:
                if at - self._first >= len(self._ahead) and not self._draw():
                    return
                batch = self._ahead[max(0, at - self._first)]
            yield batch

    def _draw(self) -> bool:
        """Draws one more batch; returns whether there was one."""
        found = [*itertools.islice(self._batches, 1)]
        self._ahead += found
        return bool(found)

    def _drop(self, number: int) -> None:
        """Drops the batches before this number."""
        while self._ahead and self._first < number:
            batch = self._ahead.popleft()
            if self._first in (self._marked, self.sample.expected):
                self.sample.observe(self._first, batch)
            self._first += 1
