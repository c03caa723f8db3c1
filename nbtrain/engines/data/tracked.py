"""An iterable whose loops are those of a run."""

from __future__ import annotations

import functools
import linecache
from collections.abc import Iterable, Iterator
from typing import Any

from nbtrain.core.errors import ArgumentError
from nbtrain.engines.data.tracks import Tracks
from nbtrain.engines.data.turns import size_of
from nbtrain.run.handle import LoopHandle
from nbtrain.run.program import for_loops


class Tracked(Iterable[Any]):
    """An iterable whose loops are those of a run; `len()` and `tqdm` know its size.

    Args:
        iterable: The elements.
        tracks: The loops of the run.
        loop: The run's loop.
        place: The file and the line that loop over it.
    """

    def __init__(
        self,
        iterable: Iterable[Any],
        tracks: Tracks,
        loop: LoopHandle,
        place: tuple[str, int],
    ) -> None:
        self._iterable, self._tracks, self._loop = iterable, tracks, loop
        self._place = place

    def __iter__(self) -> Iterator[Any]:
        around = None if self._tracks.within else _untracked_around(*self._place)
        return self._tracks.over(self._iterable, self._loop, around)

    def __len__(self) -> int:
        size = size_of(self._iterable)
        if size is None:
            raise TypeError(f"object of type {type(self._iterable).__name__!r} has no len()")
        return size


@functools.lru_cache(64)
def _untracked_around(filename: str, line: int) -> str | None:
    """Returns the message about an untracked loop around the loop in a line; None without one.

    Called while no tracked loop is open, so the loop around is not tracked.
    """
    source = "".join(linecache.getlines(filename))
    tree = for_loops.parsed(source)
    if tree is None or for_loops.begun_at(tree, line) is None:
        return None
    loops = for_loops.around(tree, line)
    if not loops:
        return None
    given, tracked = for_loops.tracked_line(loops[0], source, "run.track")
    write = f"write `{tracked}`" if tracked else "track it too"
    return (
        f"Line {loops[0].lineno}, `{given}`, is not tracked, so the end of the run is unknown. If "
        "it goes on after a stop, the lines around its tracked loop are executed again for each "
        f"turn that was done. To leave them out, {write}."
    )


def check_tracked(iterable: object) -> None:
    """Checks that an object can be looped over.

    Raises:
        ArgumentError: It cannot be looped over.
    """
    if not isinstance(iterable, Iterable) and not hasattr(iterable, "__getitem__"):
        raise ArgumentError(
            f"track({iterable!r}): give something to loop over, such as a tf.data.Dataset or "
            "range(50)."
        )
