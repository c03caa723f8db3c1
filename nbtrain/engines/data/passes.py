"""The elements of a `tf.data` pipeline for a program that loops over each pass itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from nbtrain.engines.data.epochs import EpochIterator
from nbtrain.engines.data.turns import Turns
from nbtrain.run.handle import LoopHandle


class Passes(EpochIterator):
    """The elements of data, whose every pass ends with StopIteration; training thread only.

    The next element is then the first of the next pass.

    Args:
        data: A `tf.data.Dataset` or a `tf.distribute.DistributedDataset`, or an iterator of one.

    Attributes:
        elements: The iterator to draw from, within a loop.
        failed: Whether an error has left the loop over them.
    """

    def __init__(self, data: Any) -> None:
        super().__init__(data, None)
        self.failed = False
        self.elements: Iterator[Any] = iter(())

    @property
    def number(self) -> int:
        """Elements of the present pass that the loop has been given."""
        return self._number - len(self._ahead)

    @property
    def size(self) -> int | None:
        """Elements of the last complete pass; None before there is one."""
        return self._length.steps

    @property
    def is_behind(self) -> bool:
        """True if elements are to be drawn again before the next."""
        return self._behind > 0

    def begin(self, loop: LoopHandle) -> Iterator[Any]:
        """Begins a loop; returns the iterator to draw from."""
        self.elements = super().begin(loop)
        return self.elements

    def go_to(self, number: int) -> None:
        """Goes to the position after this many elements of the present pass, by drawing again."""
        if number != self.number:
            self._go_to(self._epoch, number, self._undone(), "only their number is known")

    def skip_passes(self, passes: int) -> None:
        """Leaves out passes that an earlier start has taken; each may have an order of its own."""
        while self._epoch < passes:
            self.end_pass()

    def end_pass(self) -> None:
        """Ends the present pass before its end."""
        self._ahead, self._at_hand, self._behind = [], (self._at_hand[0], []), 0
        self._epoch, self._number, self._length.began = self._epoch + 1, 0, None
        if self._iterators.at_hand is None:
            self._iterators.start()
        if self._iterators.again:
            self._iterators.turn()

    def _turn(self) -> None:
        super()._turn()
        raise StopIteration


def elements_of(iterable: Iterable[Any]) -> Passes | Turns:
    """Returns the elements of data of `tf.data`, or of any other iterable."""
    return Passes(iterable) if hasattr(iterable, "element_spec") else Turns(iterable)
