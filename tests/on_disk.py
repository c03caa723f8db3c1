"""The contents of a run's folder."""

from __future__ import annotations

import shutil
from pathlib import Path

from nbtrain.checkpoints.files import listed
from nbtrain.run.run import Run
from nbtrain.rundir.entries import Entry, entries


def journal(of: Run | Path, *events: str) -> list[Entry]:
    """The entries of a run or a folder, of these events or of all; each of its lines is one."""
    unread: list[int] = []
    found = list(entries(of if isinstance(of, Path) else of.logdir, unread))
    assert not unread, f"lines {unread} are no entries"
    return [entry for entry in found if not events or entry["event"] in events]


def saved(run: Run) -> list[int]:
    """The steps of its own checkpoints."""
    return [checkpoint.step for checkpoint in listed(run.logdir / "checkpoints")]


def copy_of(folder: Path, to: str | Path) -> Path:
    """A copy of the folder of a run that is alive, which replaces its files meanwhile."""
    return Path(shutil.copytree(folder, to, ignore=shutil.ignore_patterns(".*.json-*")))


def delete(folder: Path) -> None:
    """Delete a folder that a run which is alive writes into: at once, not file by file."""
    shutil.rmtree(folder.rename(folder.with_name(f"{folder.name}-deleted")))
