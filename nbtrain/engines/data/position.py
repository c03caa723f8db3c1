"""The position of a training in its data, saved and restored together with its objects.

Three kinds of training have a position: a run over `data=` (`Passes`), tracked loops (`Tracks`),
and a fit of Keras (`DataPosition`).
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar

from nbtrain.engines.data.as_read import AsRead
from nbtrain.engines.data.iterators import Iterators

# Why the elements of an iterator cannot be drawn again.
ONE_WAY = "an iterator cannot go back"


class Position(abc.ABC):
    """The position of a training in its data; training thread only.

    Attributes:
        names: The first names of its values in a checkpoint.
    """

    names: ClassVar[Sequence[str]]

    @property
    @abc.abstractmethod
    def iterators(self) -> Iterators | None:
        """The `tf.data` iterators whose states are saved with it; None if there are none."""

    @property
    def one_way(self) -> str | None:
        """Why elements that were drawn cannot be drawn again; None if they can."""
        return None

    @abc.abstractmethod
    def saved(self) -> dict[str, Any]:
        """Returns the objects that save the position, by name; none if there is no position."""

    @abc.abstractmethod
    def restore(self, read: AsRead) -> None:
        """Restores the position of a checkpoint, whose variables have been restored."""

    def apart(self) -> AbstractContextManager[object] | None:
        """Returns a context that draws other elements of the same data.

        None if there are none, or if those that were drawn can be drawn again exactly. Afterwards
        the next element is the one that it was before.
        """
        return None

    def vary(self, _repeat: int, _steps: int) -> bool:
        """Prepares other batches for a further repeat of some steps; returns whether it could."""
        return False
