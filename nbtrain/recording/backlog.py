"""Keeps writes in bounded memory until there is space for an event file.

A disk that stays full overnight must not end the training. Beyond a limit the oldest scalars are
dropped. The marks among them stay, because they show which of the steps on disk were abandoned.

backlog = Backlog()
backlog.add(steps, lambda writer: writer.scalars(...), size=300)
backlog.write_next(writer)    # raises an OSError if there is no space: the write stays
backlog.span                  # (1, 300): the steps not on disk
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbtrain.tfevents.writer import EventWriter

# Numbers that may wait: 40 MB of steps, times and values.
MOST = 5_000_000

# The cost of a write in addition to its numbers: its closure and its arrays.
_EACH = 100

# The fraction that stays after dropping, so that not every write must drop some.
_KEPT = 0.9

Write = Callable[["EventWriter"], None]


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A write of some steps; its size is 0 if it is a mark."""

    first: int
    last: int
    size: int
    write: Write


class Backlog:
    """Waiting writes in their order; for one thread at a time.

    Attributes:
        span: The first and the last waiting step.
        dropped: The first and the last dropped step; None if none were dropped.
    """

    def __init__(self) -> None:
        self.span = (0, 0)
        self.dropped: tuple[int, int] | None = None
        self._size = 0
        self._waiting: deque[_Waiting] = deque()

    def __len__(self) -> int:
        """The number of waiting writes."""
        return len(self._waiting)

    def add(self, steps: Sequence[int], write: Write, *, size: int = 0) -> None:
        """Adds a write.

        Args:
            write: Writes all or nothing.
            size: How many numbers it writes; 0 for a mark, which is never dropped.
        """
        added = _Waiting(steps[0], steps[-1], size + _EACH if size else 0, write)
        self.span = _span([added], self.span if self._waiting else None)
        self._size += added.size
        self._waiting.append(added)

    def write_next(self, writer: EventWriter) -> None:
        """Does the oldest write, and removes it unless there is no space.

        Raises:
            OSError: There is no space.
            Exception: The write failed for another reason; it is removed.
        """
        try:
            self._waiting[0].write(writer)
        except OSError:
            self._drop()
            raise
        except Exception:
            self._drop_oldest()
            raise
        self._drop_oldest()

    def clear(self) -> None:
        """Drops all waiting writes."""
        self._waiting.clear()
        self._size = 0

    def _drop_oldest(self) -> None:
        self._size -= self._waiting.popleft().size

    def _drop(self) -> None:
        """Drops the oldest scalars if too many wait."""
        if self._size <= MOST:
            return
        kept: deque[_Waiting] = deque()
        dropped: list[_Waiting] = []
        for each in self._waiting:
            newest = each is self._waiting[-1]
            if each.size and not newest and self._size > _KEPT * MOST:
                self._size -= each.size
                dropped.append(each)
            else:
                kept.append(each)
        self._waiting = kept
        self.span = _span([each for each in kept if each.size] or kept, None)
        if dropped:
            self.dropped = _span(dropped, self.dropped)


def _span(parts: Iterable[_Waiting], more: tuple[int, int] | None) -> tuple[int, int]:
    """Returns the first and the last step of some writes and of `more`."""
    steps = [step for each in parts for step in (each.first, each.last)] + [*(more or ())]
    return min(steps), max(steps)
