"""The actions of all marks, computed again when something that they depend on has changed."""

from __future__ import annotations

from collections.abc import Mapping

from nbtrain.core.states import Status
from nbtrain.rundir.journal import Marks
from nbtrain.steer.actions import Action, Actions


class MarkActions:
    """The actions of a run's marks, by number; one thread at a time.

    Args:
        marks: The marks.
        most: The most checkpoints that a status lists; None if it lists all.

    Attributes:
        open_nan: The number of the newest "nan" mark at the last call; None if the run has
            continued or gone back since.
    """

    def __init__(self, marks: Marks, most: int | None = None) -> None:
        self._marks, self._most = marks, most
        self.open_nan: int | None = None
        self._basis: tuple[object, ...] = ()
        # Names and values of hyperparameters: the values before the edits of marks, and the values
        # that trials have compared.
        self._former: frozenset[tuple[str, float]] = frozenset()
        self._found: Mapping[int, tuple[Action, ...]] = {}

    def of(self, status: Status, count: int) -> Mapping[int, tuple[Action, ...]]:
        """Returns the actions of each mark, by its number counted over all marks.

        Args:
            status: The status of the run.
            count: The number of marks before the status was read, as for `Actions`.
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
