"""Deletes and renames runs that have ended, for a line of a cell or of a terminal.

delete("runs/digits", asks=True)        # asks in the cell or terminal first
rename("runs/digits", "digits-adam")
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from nbtrain.core.errors import ArgumentError
from nbtrain.rundir import housekeeping
from nbtrain.rundir.folder import shown
from nbtrain.steer import registry

WITHOUT_ASKING = "delete without a question"


def delete(logdir: str | os.PathLike[str], *, asks: bool) -> str:
    """Deletes the folder of a run, with all that is in it.

    Args:
        asks: Whether to ask first, through Python's `input`.

    Returns:
        What was done, in words.

    Raises:
        ArgumentError: It is not the folder of a run alone, it cannot be deleted, or nobody can be
            asked here.
        BusyError: A run trains there.
    """
    folder = _folder(logdir)
    kept = housekeeping.Kept.of(folder)
    if asks and not _agrees(f"{kept} Delete it? [y/N] "):
        return f"{shown(folder)} stays."
    housekeeping.delete(folder)
    _forget(folder)
    return f"{shown(folder)} is deleted."


def rename(logdir: str | os.PathLike[str], name: str) -> str:
    """Renames a run that has ended, and its folder.

    Returns:
        What was done, in words.

    Raises:
        ArgumentError: See `rundir.housekeeping.rename`.
        BusyError: A run trains there, or in the folder of a branch.
    """
    folder = _folder(logdir)
    new = housekeeping.rename(folder, name)
    _forget(folder)
    return f"{shown(folder)} is {shown(new)} now."


def _folder(logdir: str | os.PathLike[str]) -> Path:
    """Returns the path of a folder; a slash at its end does not count."""
    return Path(os.path.normpath(Path(logdir).expanduser().absolute()))


def _agrees(question: str) -> bool:
    try:
        answer = input(question)
    except (EOFError, NotImplementedError):  # NotImplementedError in a notebook without a page
        raise ArgumentError(f"{question}Nobody can answer here: add --yes.") from None
    return answer.strip().casefold() in ("y", "yes")


def _forget(folder: Path) -> None:
    """Removes the ended runs of a folder from the list of this process."""
    for name, run in list(registry.runs.items()):
        if run.logdir == folder:
            with contextlib.suppress(KeyError):
                del registry.runs[name]
