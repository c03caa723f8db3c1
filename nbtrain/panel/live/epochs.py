"""Remembers how many epochs were done at which steps, for the axis of the charts.

epochs = Epochs()
epochs.points(status)       # [(0, 0), (300, 3), (350, 4)]: three of 100 steps, then one of 50
"""

from __future__ import annotations

from collections.abc import Sequence

from nbtrain.core.states import Status

Point = tuple[int, int]

# The most points: if the epochs have many different lengths, some points are dropped, and only the
# mean length of the epochs between two others is known.
MOST = 32


class Epochs:
    """The epochs of one run, from its successive statuses; one thread at a time.

    If no status showed the beginning of some epochs, they are assumed to be equally long.
    """

    def __init__(self) -> None:
        self._begins: list[Point] = [(0, 0)]

    def points(self, status: Status) -> Sequence[Point]:
        """Returns points in order: a step, and the number of epochs done at this step.

        All epochs between two points have the same length. With fewer than two points no length is
        known. If a run has ended between two epochs, its status may not contain the beginning of an
        epoch; then the points of earlier statuses are returned.
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
    """Returns points with a new one, without points that contradict it or lie on one line."""
    kept = [point for point in points if point[0] < new[0] and point[1] < new[1]]
    if len(kept) > 1:
        (first, done), (second, then) = kept[-2:]
        if (second - first) * (new[1] - then) == (new[0] - second) * (then - done):
            kept.pop()
    return [*(kept if len(kept) < MOST else kept[::2]), new]
