"""Tracks the execution of cells, and shows runs at the end of a cell.

run = nbtrain.fit(...)      # the cell shows the run at its end
run                         # unless the cell does so itself, or ends with a semicolon
"""

from __future__ import annotations

import asyncio
import contextvars
import dataclasses
import tokenize
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from IPython import get_ipython
from IPython.core.displaypub import CapturingDisplayPublisher

from nbtrain.notebook.alive import keep_alive

if TYPE_CHECKING:
    from nbtrain.remote.attached import AttachedRun
    from nbtrain.run.run import Run

Show: TypeAlias = "Callable[[Run], object]"


@dataclasses.dataclass
class _Execution:
    """The state of an execution. It has only weak references to runs, which keep models in memory.

    Attributes:
        started: Runs that the cell has started, each with the function that shows it.
        due: Runs that the cell shows at its end, even if it has started several.
        shown: Runs that the cell has shown.
        in_foreground: Runs that train in the cell's thread.
    """

    started: dict[weakref.ref[Run], Show] = dataclasses.field(default_factory=dict)
    due: dict[weakref.ref[Run], Show] = dataclasses.field(default_factory=dict)
    shown: weakref.WeakSet[Run | AttachedRun] = dataclasses.field(default_factory=weakref.WeakSet)
    in_foreground: weakref.WeakSet[Run] = dataclasses.field(default_factory=weakref.WeakSet)


@dataclasses.dataclass(frozen=True)
class Place:
    """The place where outputs are shown.

    Attributes:
        cell: The id of the cell; None if the front end sends none.
        request: The id of the request to execute the cell; None outside a kernel.
    """

    cell: str | None
    request: str | None

    def has_cleared(self, other: Place) -> bool:
        """Returns whether `other` is an earlier execution of the cell, whose outputs are gone."""
        return self.cell is not None and self.cell == other.cell and self.request != other.request


# Variables by which ipykernel assigns output to a cell.
_OF_THE_CELL = ("parent_header", "shell_parent", "shell_parent_ident")

# Functions that are called at the end of each cell of a client without pages.
at_end: list[Callable[[], object]] = []

# Executions that have not ended, by the request that each answers.
_executions: dict[str, _Execution] = {}


def note_start(run: Run, show: Show) -> None:
    """Notes that the calling cell has started a run.

    A cell that has started only one run shows this run at its end. A run in the foreground is shown
    at once.
    """
    keep_alive(run)
    execution = _current()
    if execution is None:
        return
    if run.in_foreground:
        execution.in_foreground.add(run)
        run.attempt.context.monitor.guarded("display", lambda: show(run))
    else:
        execution.started[weakref.ref(run)] = show


def show_at_end(run: Run, show: Show) -> None:
    """Shows a run at the end of the calling cell, unless the cell has shown it."""
    execution = _current()
    if execution is not None:
        execution.due[weakref.ref(run)] = show


def note_shown(run: Run | AttachedRun) -> None:
    """Notes that the calling cell shows a run."""
    execution = _current()
    if execution is not None:
        execution.shown.add(run)


def cell() -> str | None:
    """Returns the cell that the calling thread executes; None if the front end does not name it."""
    return place().cell


def place() -> Place:
    """Returns the place where the calling thread shows outputs."""
    request = _request()
    names = request.get("metadata", {}).get("cellId"), request.get("header", {}).get("msg_id")
    return Place(*(name if isinstance(name, str) else None for name in names))


def _end(result: Any) -> None:
    """Handles the end of a cell (IPython's `post_run_cell`)."""
    request = _answered() or ""
    execution = _executions.get(request, _Execution())
    only = execution.started if len(execution.started) == 1 else {}
    error = result.error_in_exec if result is not None else None
    for looped in execution.in_foreground if error is not None else ():
        if not looped.status.phase.ended:  # the traceback keeps its loop alive
            looped.attempt.abandon(error)
    try:
        if not _is_quiet(result):
            for ref, show in (only | execution.due).items():
                run = ref()
                if run is not None and run not in execution.shown:
                    show(run)
        captured = isinstance(get_ipython().display_pub, CapturingDisplayPublisher)
        if cell() is None and not captured:
            for act in at_end:
                act()
    finally:
        _executions.pop(request, None)


def context() -> contextvars.Context:
    """Returns the context for a thread started by the calling cell, so its prints appear there.

    A client without pages, such as nbclient, does not name cells and ignores outputs of a cell that
    has ended. With such a client, the prints appear below the cell that is being executed.
    """
    here = contextvars.copy_context()
    if cell() is not None or not _request():
        return here
    free = contextvars.Context()
    for variable, value in here.items():
        if variable.name not in _OF_THE_CELL:
            free.run(variable.set, value)
    return free


def _is_quiet(result: Any) -> bool:
    """Returns whether the cell ends with a semicolon; False if interrupted in an `await`.

    IPython's own `quiet()` reads the last cell in its history, which may be another one, and does
    not find a cell within `%%time`.
    """
    if result is None:
        return False
    try:
        hook = get_ipython().displayhook
        return bool(hook.semicolon_at_end_of_expression(result.info.raw_cell))
    except (tokenize.TokenError, SyntaxError):  # some lines are not Python
        return False


def _current() -> _Execution | None:
    """Returns the execution to which the calling thread belongs; None if it belongs to none."""
    request = _answered()
    if request is None:
        return None
    get_ipython().events.register("post_run_cell", _end)  # registering twice has no effect
    return _executions.setdefault(request, _Execution())


def _answered() -> str | None:
    """Returns the id of the execution's request in the thread of a cell; None in other threads.

    A cell is executed within an event loop. A thread that the cell has started has no event loop,
    although its output appears below the cell.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return None
    request = _request()
    header, content = request.get("header", {}), request.get("content", {})
    if header.get("msg_type") != "execute_request" or content.get("silent"):
        return None
    name = header.get("msg_id")
    return name if isinstance(name, str) else None


def _request() -> dict[str, Any]:
    """Returns the message that the calling thread answers; empty outside a kernel."""
    kernel = getattr(get_ipython(), "kernel", None)
    return kernel.get_parent() if kernel is not None else {}
