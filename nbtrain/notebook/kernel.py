"""The runs of this kernel, by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtrain.core.errors import ArgumentError
from nbtrain.run import registry

if TYPE_CHECKING:
    from nbtrain.run.run import Run


def runs() -> dict[str, Run]:
    """Returns the runs of this kernel by name, the latest start last. Any thread may call it.

    Only the last few ended runs are listed; older ones live as long as someone holds them.
    """
    return dict(registry.runs)


def find_run(name: str | None = None) -> Run:
    """Returns the run of this name. Without a name: the live run, or else the latest started.

    Raises:
        ArgumentError: There is none, or several are live.
    """
    known = runs()
    if not known:
        raise ArgumentError(
            "No run has been started in this kernel: begin a cell with %%nbtrain, or call "
            "nbtrain.train(...)."
        )
    if name is None:
        live = [run for run in known.values() if not run.status.phase.ended]
        if len(live) > 1:
            listed = ", ".join(repr(run.name) for run in live)
            raise ArgumentError(
                f"Which run? {len(live)} are alive: {listed}. Give the name of one."
            )
        return live[0] if live else next(reversed(known.values()))
    if name not in known:
        listed = ", ".join(map(repr, known))
        raise ArgumentError(f"There is no run {name!r} in this kernel; its runs: {listed}.")
    return known[name]
