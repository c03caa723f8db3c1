"""Functions that are called when something happens to a run."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable

from nbtrain.core.errors import ArgumentError
from nbtrain.run import roster
from nbtrain.rundir.journal import EVENTS, Mark

Listener = Callable[[Mark], object]


class Listeners:
    """The functions of a run, over all its starts; any thread."""

    def __init__(self) -> None:
        self._calls: dict[tuple[str, Listener], Callable[[Mark], object]] = {}

    def __bool__(self) -> bool:
        """Whether there is one."""
        return bool(self._calls)

    def add(self, event: str, function: Listener) -> None:
        """Have `function` called with what happened; twice the same is once.

        Raises:
            ArgumentError: There is no such event, or it cannot be called.
        """
        check_event(event)
        if not callable(function):
            raise ArgumentError(
                f"on({event!r}) is given {function!r}: give a function that takes what happened, "
                "such as lambda mark: print(mark.step, mark.text)."
            )
        # What it prints appears under the cell that has registered it.
        context = roster.context()
        # A copy each time: two starts of a run may be at it at once.
        self._calls[event, function] = lambda mark: context.copy().run(function, mark)

    def calls(self, mark: Mark) -> list[Callable[[], object]]:
        """What is to be called when this has happened."""
        return [
            functools.partial(call, mark)
            for (event, _), call in list(self._calls.items())
            if event == mark.event
        ]


def check_event(event: object) -> None:
    """Raise an ArgumentError where there is no such event."""
    if event not in EVENTS:
        near = difflib.get_close_matches(str(event), EVENTS, n=1)
        meant = f" (was {near[0]!r} meant?)" if near else ""
        raise ArgumentError(
            f"on({event!r}): there is no such event{meant}; there are {', '.join(EVENTS)}."
        )
