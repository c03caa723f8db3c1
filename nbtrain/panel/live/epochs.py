"""Keeps how many epochs are done at which steps, for the axis of the charts.

epochs = Epochs()
epochs.points(status)       # [(0, 0), (300, 3), (350, 4)]: three of 100 steps, then one of 50
"""

from __future__ import annotations

from collections.abc import Sequence

from nbtrain.core.states import Status

Point = tuple[int, int]

# The most points: if the epochs have many lengths, only the mean length of some is known.
MOST = 32


class Epochs:
    """The epochs of one run, as its status tells of them; one thread at a time.

    Epochs that were not seen to begin count as equal parts of the steps between those that were.
    """

    def __init__(self) -> None:
        self._begins: list[Point] = [(0, 0)]

    def points(self, status: Status) -> Sequence[Point]:
        """Returns steps, with the epochs that are done there, in order.

        The length of an epoch between two of them is the same. Fewer than two: it is not known.
        A run that ended between two epochs may not know where the one before began, but this does.
        """
        if status.epoch is None or status.epoch_began is None:
            return self._begins if status.phase.ended and len(self._begins) > 1 else ()
        began, done = status.epoch_began, status.epoch - 1
        if self._begins[-1:] != [(began, done)]:
            self._begins = _joined(self._begins, (began, done))
        if not status.epoch_steps:
            return self._begins
        return _joined(self._begins, (began + status.epoch_steps, done + 1))


def _joined(points: Sequence[Point], new: Point) -> list[Point]:
    """Returns points with a new one, without those that contradict it or are on a line."""
    kept = [point for point in points if point[0] < new[0] and point[1] < new[1]]
    if len(kept) > 1:
        (first, done), (second, then) = kept[-2:]
        if (second - first) * (new[1] - then) == (new[0] - second) * (then - done):
            kept.pop()
    return [*(kept if len(kept) < MOST else kept[::2]), new]
