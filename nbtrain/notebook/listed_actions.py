"""Remembers the actions that `%nbtrain actions` has listed for each run, by number from 1.

A number refers to the list that the reader has seen. A new list may have other numbers, because of
an edit, a checkpoint or a restore in the meantime.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from IPython.core.error import UsageError

from nbtrain.steer.actions import Action

if TYPE_CHECKING:
    from nbtrain.notebook.display import AnyRun

# The list of each run and the segment of its timeline at that time. Only the thread that runs the
# cells reads and changes it.
_listed: WeakKeyDictionary[AnyRun, tuple[tuple[Action, ...], int]] = WeakKeyDictionary()


def list_actions(run: AnyRun) -> str:
    """Formats the actions of the newest marks of a run with their numbers, and remembers them."""
    actions = run.actions()
    _listed[run] = actions, run.marks.timeline.segment
    ended = f": it has ended ({run.status.phase})" if run.status.phase.ended else ""
    return "\n".join(f"{number}  {each}" for number, each in enumerate(actions, 1)) or (
        f"There is nothing to restore or to undo in {run.name}{ended}."
    )


def listed_actions(run: AnyRun) -> Sequence[Action]:
    """Returns the actions that were listed last for a run; empty after one of them was used."""
    return _listed.get(run, ((), 0))[0]


def action_by_number(run: AnyRun, number: int) -> Action:
    """Returns an action of the last list by its number, and empties the list.

    Raises:
        UsageError: There is no such action, or it is no longer possible. The message lists the
            possible actions.
    """
    listed, segment = _listed.get(run, (None, 0))
    if listed is None:
        why = "Nothing was done: a number refers to a list of actions, and none was shown."
    elif not listed:
        why = "Nothing was done: an action of the last list was executed. The new list:"
    elif segment != run.marks.timeline.segment:  # the action may have been executed already
        why = "Nothing was done: since the last list, the run was rewound or started again."
    elif not 1 <= number <= len(listed):
        why = f"There is no action {number}:"
    else:
        action = listed[number - 1]
        if any(repr(each) == repr(action) for each in run.actions()):
            _listed[run] = (), 0
            return action
        why = f'Nothing was done: action {number}, "{action.text}", is no longer possible.'
    raise UsageError(f"{why}\n{list_actions(run)}")
