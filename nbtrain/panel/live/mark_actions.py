"""The actions of all marks, computed again when something has changed that they depend on."""

from __future__ import annotations

from collections.abc import Mapping

from nbtrain.core.states import Status
from nbtrain.rundir.journal import Marks
from nbtrain.steer.actions import Action, Actions


class MarkActions:
    """The actions of a run's marks, by number; one thread at a time.

    Args:
        marks: The marks.
        most: The number of checkpoints that a status lists at most; None if it lists all.

    Attributes:
        open_nan: The number of the newest "nan" at the last call; None if the run has gone on or
            back since.
    """

    def __init__(self, marks: Marks, most: int | None = None) -> None:
        self._marks, self._most = marks, most
        self.open_nan: int | None = None
        self._basis: tuple[object, ...] = ()
        # The values that hyperparameters had before the edits of marks, and those that trials have
        # compared, with their names.
        self._former: frozenset[tuple[str, float]] = frozenset()
        self._found: Mapping[int, tuple[Action, ...]] = {}

    def of(self, status: Status, count: int) -> Mapping[int, tuple[Action, ...]]:
        """Returns the actions of each mark, by its number counted over all marks.

        Args:
            status: The status of the run.
            count: The number of marks before the status was taken, as for `Actions`.
        """
        since = count, self._marks.timeline.order  # first: it may grow meanwhile
        if (*since, *self._shown(status)) != self._basis:
            found = Actions(self._marks, status, count, most=self._most)
            marks = found.marks
            former = {edit[:2] for mark in marks for edit in mark.edits}
            compared = {pair for mark in marks for arm in mark.arms for pair in arm.values.items()}
            self._former = frozenset(former | compared)
            self._found = {found.first + at: found.of(at) for at in range(len(marks))}
            self.open_nan = None if found.open_nan is None else found.first + found.open_nan
            self._basis = (*since, *self._shown(status))
        return self._found

    def _shown(self, status: Status) -> tuple[object, ...]:
        """The part of a status on which actions depend."""
        tuned = status.hyperparameters
        # A program or a schedule may change values at every step, but an action depends only on
        # whether the values are those that it would set.
        values = {each.name: each.value for each in tuned}
        former = [(name, v) for name, v in values.items() if (name, v) in self._former and v == v]
        return status.phase, status.checkpoints, list(values), former
