"""Finds runs by name: runs of this kernel, and attached runs of other processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtrain.core.errors import ArgumentError
from nbtrain.remote.attached import AttachedRun, ended, followed
from nbtrain.steer import registry

if TYPE_CHECKING:
    from nbtrain.run.run import Run


def runs() -> dict[str, Run]:
    """Returns the runs of this kernel by name, the latest start last. Any thread may call it.

    Only the last few ended runs are listed; older ones exist as long as a variable refers to them.
    """
    return dict(registry.runs)


def named_runs() -> list[Run | AttachedRun]:
    """Returns the runs that a line of `%nbtrain` may name.

    The order is: attached runs that have ended and are not trained again, runs of this kernel, live
    attached runs.
    """
    others: list[Run | AttachedRun] = [*runs().values(), *attached()]
    again = {run.logdir for run in others}
    over = {run.logdir: run for run in ended() if run.logdir not in again}
    return [*over.values(), *others]


def attached() -> list[AttachedRun]:
    """Returns the live attached runs: for each folder, the one that was attached last."""
    return [*{run.logdir: run for run in followed()}.values()]


def find_run(name: str | None = None) -> Run | AttachedRun:
    """Returns the run with a name.

    If several runs have the name, a live run is preferred to an ended one, and then a run of this
    kernel to an attached one. Without a name, returns the live run of this kernel; if there is
    none, the live attached run; otherwise the latest started run.

    Raises:
        ArgumentError: There is no such run, or no name is given and several runs are live.
    """
    listed = named_runs()
    if not listed:
        raise ArgumentError(
            "No run has been started in this kernel: begin a cell with %%nbtrain, or call "
            "nbtrain.train(...). %nbtrain open LOGDIR attaches a run of another process."
        )
    if name is not None:
        return _named(name, listed)
    own = [run for run in runs().values() if not run.status.phase.ended]
    live: list[Run | AttachedRun] = [*own] if own else [*attached()]
    if len(live) > 1:
        names = ", ".join(repr(run.name) for run in live)
        raise ArgumentError(f"{len(live)} runs are live: {names}. Give the name of one.")
    return live[0] if live else listed[-1]


def _named(name: str, listed: list[Run | AttachedRun]) -> Run | AttachedRun:
    found = [run for run in listed if run.name == name]
    if not found:
        names = ", ".join(repr(run.name) for run in listed)
        raise ArgumentError(f"There is no run {name!r} in this kernel; its runs: {names}.")
    return next((run for run in found if not run.status.phase.ended), found[-1])
