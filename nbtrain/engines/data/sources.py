"""The elements of tracked loops; a later loop over the same data continues with them.

The key of a loop has the numbers of the loops around it, and its own: see `tracks`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from nbtrain.engines.data.passes import TrackedPasses
from nbtrain.engines.data.turns import Turns

Key = tuple[int, ...]

# The most pipelines of past outermost loops that are kept. If looped over again, a pipeline
# continues with its next pass. Each has threads, and a program may make one for each epoch.
_PIPELINES = 8


class Sources:
    """The elements of the loops of a run, by their keys; training thread only."""

    def __init__(self) -> None:
        self._held: dict[Key, tuple[object, TrackedPasses | Turns]] = {}  # with their iterables

    def begin(self) -> None:
        """Begins a start of the run, which repeats the turn that an error has ended."""
        for _, source in self._held.values():
            source.failed = False

    def end_failed(self) -> None:
        """Ends the passes that an error has interrupted, as the program continues after it."""
        for _, source in self._held.values():
            if source.failed:
                source.failed = False
                source.end_pass()

    def has_earlier(self, key: Key, iterable: Iterable[Any]) -> bool:
        """Returns whether an earlier outermost loop was over the same data."""
        return any(
            len(at) == 1 and at < key and held is iterable for at, (held, _) in self._held.items()
        )

    def get(self, key: Key, iterable: Iterable[Any], passes: int) -> TrackedPasses | Turns:
        """Returns the elements of an iterable, from the position where its last loop ended.

        Args:
            key: The key of the loop.
            iterable: The iterable of the loop.
            passes: The passes that an earlier process has drawn, if none was drawn here.
        """
        held, source = self._held.get(key, (None, None))
        is_new = source is None
        if source is None or held is not iterable:
            source = self._shared(key, iterable) or _elements_of(iterable)
            self._held[key] = iterable, source
        if isinstance(source, TrackedPasses) and is_new:
            source.skip_passes(passes)  # each may have an order of its own
        return source

    def complete(self, key: Key, iterable: Iterable[Any], passes: int) -> None:
        """Ends the pass of a loop that an earlier start has completed, if not in this process."""
        if not any(at >= key and held is iterable for at, (held, _) in self._held.items()):
            self.get(key, iterable, passes).end_pass()

    def drop_before(self, key: Key) -> None:
        """Drops the elements of earlier loops, except pipelines that may be looped over again."""
        past = [at for at in self._held if at < key]
        pipelines = [
            at for at in past if len(at) == 1 and isinstance(self._held[at][1], TrackedPasses)
        ]
        for at in {*past}.difference(sorted(pipelines)[-_PIPELINES:]):
            del self._held[at]

    def _shared(self, key: Key, iterable: Iterable[Any]) -> TrackedPasses | None:
        """Moves the passes of an earlier outermost loop over the same data here; None if none.

        Within a turn each loop has passes of its own: a run that continues does not execute the
        loops of past turns.
        """
        if len(key) > 1 or isinstance(iterable, Iterator):
            return None
        for at in sorted((at for at in self._held if at < key), reverse=True):
            held, source = self._held[at]
            if len(at) == 1 and held is iterable and isinstance(source, TrackedPasses):
                del self._held[at]
                return source
        return None


def _elements_of(iterable: Iterable[Any]) -> TrackedPasses | Turns:
    """Returns the elements of a `tf.data` dataset, or of any other iterable."""
    return TrackedPasses(iterable) if hasattr(iterable, "element_spec") else Turns(iterable)
