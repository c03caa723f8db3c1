"""The runs of this kernel by their names, and those of other processes that it follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtrain.core.errors import ArgumentError
from nbtrain.remote.attached import AttachedRun, ended, followed
from nbtrain.steer import registry

if TYPE_CHECKING:
    from nbtrain.run.run import Run


def runs() -> dict[str, Run]:
    """Returns the runs of this kernel by name, the latest start last. Any thread may call it.

    Only the last few ended runs are listed; older ones live as long as someone holds them.
    """
    return dict(registry.runs)


def named_runs() -> list[Run | AttachedRun]:
    """Returns the runs that a magic may name.

    First the attached runs that have ended and are not trained again, then those of this kernel,
    then the live attached ones.
    """
    others: list[Run | AttachedRun] = [*runs().values(), *attached()]
    again = {run.logdir for run in others}
    over = {run.logdir: run for run in ended() if run.logdir not in again}
    return [*over.values(), *others]


def attached() -> list[AttachedRun]:
    """Returns the live attached runs: for each folder, the one that was attached last."""
    return [*{run.logdir: run for run in followed()}.values()]


def find_run(name: str | None = None) -> Run | AttachedRun:
    """Returns the run of this name; one of this kernel before an attached one of the same name.

    Without a name: the live run, one of this kernel before an attached one; or else the latest
    started.

    Raises:
        ArgumentError: There is none, or several are live.
    """
    listed = named_runs()
    if not listed:
        raise ArgumentError(
            "No run has been started in this kernel: begin a cell with %%nbtrain, or call "
            "nbtrain.train(...). For a run of another process: %nbtrain open LOGDIR."
        )
    if name is not None:
        return _named(name, listed)
    own = [run for run in runs().values() if not run.status.phase.ended]
    live: list[Run | AttachedRun] = [*own] if own else [*attached()]
    if len(live) > 1:
        names = ", ".join(repr(run.name) for run in live)
        raise ArgumentError(f"Which run? {len(live)} are alive: {names}. Give the name of one.")
    return live[0] if live else listed[-1]


def _named(name: str, listed: list[Run | AttachedRun]) -> Run | AttachedRun:
    found = [run for run in listed if run.name == name]
    if not found:
        names = ", ".join(repr(run.name) for run in listed)
        raise ArgumentError(f"There is no run {name!r} in this kernel; its runs: {names}.")
    return next((run for run in found if not run.status.phase.ended), found[-1])
