"""The elements of any iterable, whose position is their number."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator, Sized
from itertools import compress, repeat
from operator import length_hint
from typing import Any
from weakref import WeakKeyDictionary

import tensorflow as tf

from nbtrain.engines.data.position import ONE_WAY
from nbtrain.run.handle import LoopHandle

# Counters by iterator: each has one less for each element that was drawn, as a later run may
# continue with the same iterator.
_of_iterators: WeakKeyDictionary[Iterator[Any], repeat[bool]] = WeakKeyDictionary()

_DRAWN_AGAIN = (
    "The first {:,} elements of the {} were drawn again: they are those that were trained only if "
    "it gives the same each time."
)


class Turns:
    """The elements of an iterable, drawn again up to a position; training thread only.

    Args:
        iterable: A list, a range or another iterable; an iterator cannot go back.

    Attributes:
        data: The iterable.
        elements: The iterator to draw from; another one after `seek`.
        failed: Whether an error has ended the loop over them.
        passes: The passes that have ended: the loop ends with the first.
    """

    passes = 0

    def __init__(self, iterable: Iterable[Any]) -> None:
        self.failed = False
        self.elements: Iterator[Any] = iter(())
        self.data = iterable
        self._left = repeat(True, sys.maxsize)  # has one less for each element that was drawn
        self._before: int | None = None  # elements that earlier runs have drawn of an iterator
        self._missing = 0  # elements up to the position that were not drawn because of a stop
        self._loop: LoopHandle | None = None
        if isinstance(iterable, Iterator):
            with contextlib.suppress(TypeError):  # not all can be referred to weakly
                self._left = _of_iterators.setdefault(iterable, self._left)

    @property
    def number(self) -> int:
        """The number of elements that were drawn, or must still be drawn up to the position."""
        return sys.maxsize - length_hint(self._left) - (self._before or 0) + self._missing

    @property
    def one_way(self) -> str | None:
        """Why elements that were drawn cannot be drawn again; None if they can."""
        return ONE_WAY if isinstance(self.data, Iterator) else None

    @property
    def is_behind(self) -> bool:
        """True if a stop has ended the drawing before the position was reached."""
        return self._missing > 0

    def begin(self, loop: LoopHandle) -> None:
        """Begins a loop at the position."""
        self._loop = loop

    def seek(self, number: int) -> None:
        """Moves to the position after `number` elements, or to the end of a shorter iterable.

        If a stop ends the drawing before the position is reached, the loop has no elements.
        """
        self._missing = 0
        if not isinstance(self.data, Iterator):
            self._left = repeat(True, sys.maxsize)
        elif self._before is None:
            self._begin_iterator(number)
        # Counts without a call of Python: a step has emptied the processor's caches.
        self.elements = compress(self.data, self._left)
        while self.number < number:
            if self._loop is not None and self._loop.host.asked_to_stop():
                self.elements, self._missing = iter(()), number - self.number
            elif next(self.elements, self) is self:
                break

    def _begin_iterator(self, number: int) -> None:
        """Skips the elements that an earlier run of this process has drawn of an iterator."""
        self._before = max(0, self.number - number)
        if self._loop is not None and (drawn := number - self.number) > 0:
            kind = type(self.data).__name__
            self._loop.inform_too(_DRAWN_AGAIN.format(drawn, kind))

    def end_pass(self) -> None:
        """Ends a pass before its end."""


def size_of(iterable: Any) -> int | None:
    """Returns the number of elements; None if it is unknown or there is no end."""
    with contextlib.suppress(TypeError, ValueError):
        if hasattr(iterable, "element_spec"):  # of tf.data, or of a tf.distribute.Strategy
            known = getattr(iterable, "cardinality", tf.data.UNKNOWN_CARDINALITY)
            size = int(known() if callable(known) else known)
            return size if size >= 0 else None
        if isinstance(iterable, Sized):
            return len(iterable)
    return None
