"""An iterable whose loops are those of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from nbtrain.core.errors import ArgumentError
from nbtrain.engines.data.tracks import Tracks
from nbtrain.engines.data.turns import size_of
from nbtrain.run.handle import LoopHandle


class Tracked(Iterable[Any]):
    """An iterable whose loops are those of a run; `len()` and `tqdm` know its size.

    Args:
        iterable: The elements.
        tracks: The loops of the run.
        loop: The run's loop.
    """

    def __init__(self, iterable: Iterable[Any], tracks: Tracks, loop: LoopHandle) -> None:
        self._iterable, self._tracks, self._loop = iterable, tracks, loop

    def __iter__(self) -> Iterator[Any]:
        return self._tracks.over(self._iterable, self._loop)

    def __len__(self) -> int:
        size = size_of(self._iterable)
        if size is None:
            raise TypeError(f"object of type {type(self._iterable).__name__!r} has no len()")
        return size


def check_tracked(iterable: object) -> None:
    """Checks that there is something to loop over.

    Raises:
        ArgumentError: There is not.
    """
    if not isinstance(iterable, Iterable) and not hasattr(iterable, "__getitem__"):
        raise ArgumentError(
            f"track({iterable!r}): give something to loop over, such as a tf.data.Dataset or "
            "range(50)."
        )
