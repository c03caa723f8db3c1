"""The runs of this kernel, by name, and the models they hold.

A run is listed from its first start until the kernel ends; another run of its
name takes its place once it has ended.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING

from nbtrain.errors import ArgumentError, BusyError

if TYPE_CHECKING:
    from nbtrain.run import Run

_runs: dict[str, Run] = {}
_held: dict[str, list[object]] = {}
_lock = threading.Lock()  # protects both


def enter(run: Run, models: Iterable[object]) -> None:
    """List a run that starts, as the holder of `models`.

    Raises:
        BusyError: A run that has not ended has this name, or holds one of the models.
    """
    models = list(models)
    wanted = {id(model) for model in models}
    with _lock:
        for name, held in _held.items():
            if name == run.name and _runs[name] is not run:
                raise BusyError(_refusal(name, "has this name"))
            if not wanted.isdisjoint(map(id, held)):
                raise BusyError(_refusal(name, "is still training this model"))
        _runs.pop(run.name, None)
        _runs[run.name] = run
        _held[run.name] = models


def leave(run: Run) -> None:
    """Let go of the models of a run that has ended."""
    with _lock:
        _held.pop(run.name, None)


def runs() -> dict[str, Run]:
    """The runs of this kernel by name, the one started last at the end; any thread."""
    with _lock:
        return dict(_runs)


def get(name: str | None = None) -> Run:
    """The run of this name, or the one started last.

    Raises:
        ArgumentError: There is none.
    """
    known = runs()
    if name is None and known:
        return next(reversed(known.values()))
    if name in known:
        return known[name]
    listed = ", ".join(map(repr, known)) or "none yet"
    wanted = "No run has been started" if name is None else f"There is no run {name!r}"
    raise ArgumentError(f"{wanted} in this kernel; its runs: {listed}.")


def _refusal(name: str, why: str) -> str:
    run = _runs[name]
    return (
        f"The run {name!r} {why} ({run.status.phase} at step {run.status.step:,}). "
        f"Stop it first: nbtrain.runs()[{name!r}].request_stop().wait()"
    )
