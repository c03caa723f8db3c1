"""The actions of all marks, computed again when something has changed that they depend on."""

from __future__ import annotations

from collections.abc import Mapping

from nbtrain.core.states import Status
from nbtrain.rundir.actions import Action, Actions
from nbtrain.rundir.journal import Marks


class Offers:
    """The actions of a run's marks, by number; one thread at a time.

    Args:
        marks: The marks.
    """

    def __init__(self, marks: Marks) -> None:
        self._marks = marks
        self._basis: tuple[object, ...] = ()
        self._edited: frozenset[str] = frozenset()  # the hyperparameters in the edits of marks
        self._found: Mapping[int, tuple[Action, ...]] = {}

    def of(self, status: Status) -> Mapping[int, tuple[Action, ...]]:
        """Returns the actions of each mark, by its number counted over all marks."""
        since = self._marks.count, self._marks.timeline.order  # first: either may grow meanwhile
        if (*since, *self._shown(status)) != self._basis:
            found = Actions(self._marks, status)
            marks = found.marks
            self._edited = frozenset(name for mark in marks for name, _, _ in mark.edits)
            self._found = {found.first + at: found.of(at) for at in range(len(marks))}
            self._basis = (*since, *self._shown(status))
        return self._found

    def _shown(self, status: Status) -> tuple[object, ...]:
        """The part of a status on which actions depend."""
        tuned = status.hyperparameters
        # A schedule may change the values of the others at every step.
        values = [each.value for each in tuned if each.name in self._edited]
        return status.phase, status.checkpoints, [each.name for each in tuned], values
