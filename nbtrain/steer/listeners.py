"""Functions that are called at the events of a run."""

from __future__ import annotations

import contextlib
import difflib
import functools
from collections.abc import Callable

from nbtrain.core.errors import ArgumentError
from nbtrain.rundir.entries import EVENTS
from nbtrain.rundir.journal import Mark
from nbtrain.steer import surroundings

Listener = Callable[[Mark], object]
Remove = Callable[[], None]


def added(listeners: list[Callable[[], object]], listener: Callable[[], object]) -> Remove:
    """Adds a listener; returns a function that removes it, and has no effect when called again."""
    listeners.append(listener)

    def remove() -> None:
        with contextlib.suppress(ValueError):
            listeners.remove(listener)

    return remove


class Listeners:
    """The functions registered for a run, in all its starts; any thread."""

    def __init__(self) -> None:
        self._calls: dict[tuple[str, Listener], Callable[[Mark], object]] = {}

    def __bool__(self) -> bool:
        """True if a function is registered."""
        return bool(self._calls)

    def add(self, event: str, function: Listener) -> None:
        """Registers a function, which is called with a mark; the same one twice counts once."""
        check_event(event)
        if not callable(function):
            raise ArgumentError(
                f"on({event!r}, {function!r}): give a function that is called with a mark, such as "
                "lambda mark: print(mark.step, mark.text)."
            )
        # Its output appears under the cell that has registered it.
        context = surroundings.current.context()
        # A copy each time: two starts of a run may call it at once.
        self._calls[event, function] = lambda mark: context.copy().run(function, mark)

    def calls(self, mark: Mark) -> list[Callable[[], object]]:
        """Returns the calls to make for a mark."""
        return [
            functools.partial(call, mark)
            for (event, _), call in list(self._calls.items())
            if event == mark.event
        ]


def check_event(event: object) -> None:
    """Raises an ArgumentError if there is no such event."""
    if event not in EVENTS:
        near = difflib.get_close_matches(str(event), EVENTS, n=1)
        meant = f" (was {near[0]!r} meant?)" if near else ""
        raise ArgumentError(
            f"on({event!r}): there is no such event{meant}; there are {', '.join(EVENTS)}."
        )
