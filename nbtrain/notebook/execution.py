"""Tracks the executions of cells: the runs that each has started or shown, and its place."""

from __future__ import annotations

import asyncio
import dataclasses
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from IPython import get_ipython

if TYPE_CHECKING:
    from nbtrain.remote.attached import AttachedRun
    from nbtrain.run.run import Run


@dataclasses.dataclass
class Execution:
    """The state of an execution. It has only weak references to runs, which keep models in memory.

    Attributes:
        started: Runs that the cell has started or attached.
        due: Runs that the cell shows at its end, even if it has started several.
        shown: Runs that the cell has shown or named, and does not show again at its end.
        in_foreground: Runs that train in the cell's thread.
        awaited: Runs for whose end the cell has waited.
    """

    started: weakref.WeakSet[Run | AttachedRun] = dataclasses.field(default_factory=weakref.WeakSet)
    due: weakref.WeakSet[Run] = dataclasses.field(default_factory=weakref.WeakSet)
    shown: weakref.WeakSet[Run | AttachedRun] = dataclasses.field(default_factory=weakref.WeakSet)
    in_foreground: weakref.WeakSet[Run] = dataclasses.field(default_factory=weakref.WeakSet)
    awaited: weakref.WeakSet[Run | AttachedRun] = dataclasses.field(default_factory=weakref.WeakSet)


@dataclasses.dataclass(frozen=True)
class Place:
    """The place where outputs are shown.

    Attributes:
        cell: The id of the cell; None if the front end sends none.
        request: The id of the request to execute the cell; None outside a kernel.
    """

    cell: str | None
    request: str | None


# Functions that are called at the end of each cell of a client without pages.
at_end: list[Callable[[], object]] = []

# Executions that have not ended, by the request that each answers.
_executions: dict[str, Execution] = {}

# The latest execution of each cell that a page has named.
_latest: dict[str, str] = {}

# The places that show each run.
_places: weakref.WeakKeyDictionary[Run | AttachedRun, set[Place]] = weakref.WeakKeyDictionary()


def show_at_end(run: Run) -> None:
    """Shows a run at the end of the calling cell, unless the cell has shown it."""
    execution = current()
    if execution is not None:
        execution.due.add(run)


def note_named(run: Run | AttachedRun) -> None:
    """Notes that the calling cell names a run that an earlier cell shows."""
    execution = current()
    if execution is not None:
        execution.shown.add(run)


def note_shown(run: Run | AttachedRun) -> None:
    """Notes that the calling cell shows a run."""
    note_named(run)
    if current() is not None:
        before = {there for there in _places.get(run, set()) if not is_cleared(there)}
        _places[run] = {place(), *before}


def is_shown_elsewhere(run: Run | AttachedRun) -> bool:
    """Returns whether an earlier cell has shown a run, and was not executed again."""
    here = place()
    places = _places.get(run, set())
    return any(there.request != here.request and not is_cleared(there) for there in places)


def is_cleared(there: Place) -> bool:
    """Returns whether the outputs of a place are gone because its cell was executed again."""
    current()  # a new execution has cleared its cell
    return there.cell is not None and _latest.get(there.cell, there.request) != there.request


def note_awaited(run: Run | AttachedRun) -> None:
    """Notes that the calling cell has waited for the end of a run."""
    execution = current()
    if execution is not None:
        execution.awaited.add(run)


def is_awaited(run: Run | AttachedRun) -> bool:
    """Returns whether the calling cell has waited for the end of a run."""
    execution = current()
    return execution is not None and run in execution.awaited


def cell() -> str | None:
    """Returns the cell that the calling thread executes; None if the front end does not name it."""
    return place().cell


def place() -> Place:
    """Returns the place where the calling thread shows outputs."""
    message = request()
    names = message.get("metadata", {}).get("cellId"), message.get("header", {}).get("msg_id")
    return Place(*(name if isinstance(name, str) else None for name in names))


def current() -> Execution | None:
    """Returns the execution to which the calling thread belongs; None if it belongs to none."""
    answered = _answered()
    if answered is None:
        return None
    if answered not in _executions:
        _executions[answered] = Execution()
        if (name := cell()) is not None:
            _latest[name] = answered
    return _executions[answered]


def end() -> None:
    """Forgets the execution to which the calling thread belongs."""
    _executions.pop(_answered() or "", None)


def _answered() -> str | None:
    """Returns the id of the execution's request in the thread of a cell; None in other threads.

    A cell is executed within an event loop. A thread that the cell has started has no event loop,
    although its output appears below the cell.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return None
    message = request()
    header, content = message.get("header", {}), message.get("content", {})
    if header.get("msg_type") != "execute_request" or content.get("silent"):
        return None
    name = header.get("msg_id")
    return name if isinstance(name, str) else None


def request() -> dict[str, Any]:
    """Returns the message that the calling thread answers; empty outside a kernel."""
    kernel = getattr(get_ipython(), "kernel", None)
    return kernel.get_parent() if kernel is not None else {}
