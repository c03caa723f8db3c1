"""Deletes and renames runs that have ended, for a line of a cell or of a terminal.

delete("runs/digits", asks=True)        # asks in the cell or terminal first
rename("runs/digits", "digits-adam")
"""

from __future__ import annotations

import os
from pathlib import Path

from nbtrain.core.errors import ArgumentError
from nbtrain.core.text.visible import visible
from nbtrain.rundir import run_folders
from nbtrain.rundir.folder import shown
from nbtrain.steer import registry

_NOBODY = "Nobody can answer here: add --yes."


def delete(logdir: str | os.PathLike[str], *, asks: bool) -> str:
    """Deletes the folder of a run, with everything in it.

    Args:
        asks: Whether to ask first, through Python's `input`.

    Returns:
        What was done, in words.

    Raises:
        ArgumentError: See `rundir.run_folders.delete`; or nobody can be asked here.
        BusyError: A run trains there.
    """
    folder = _folder(logdir)
    contents = run_folders.Contents.of(folder)
    if asks and not _agrees(f"{contents} Delete it? [y/N] "):
        return "Nothing was deleted."
    run_folders.delete(folder)
    _forget(folder)
    return f"Deleted {shown(folder)}."


def rename(logdir: str | os.PathLike[str], name: str) -> str:
    """Renames a run that has ended, and its folder.

    Returns:
        What was done, in words.

    Raises:
        ArgumentError: See `rundir.run_folders.rename`.
        BusyError: A run trains there, or in the folder of a branch.
    """
    folder = _folder(logdir)
    new = run_folders.rename(folder, name)
    _forget(folder)
    return f"Renamed {shown(folder)} to {shown(new)}."


def _folder(logdir: str | os.PathLike[str]) -> Path:
    """Returns the absolute path of a folder, which may be a link itself."""
    path = Path(logdir).expanduser().absolute()
    return path.resolve() if path.name in ("", "..") else path.parent.resolve() / path.name


def _agrees(question: str) -> bool:
    question = visible(question)
    try:
        answer = input(question)
    except EOFError:  # a terminal has shown the question
        raise ArgumentError(_NOBODY) from None
    except NotImplementedError:  # a notebook without a page
        raise ArgumentError(f"{question}{_NOBODY}") from None
    return answer.strip().casefold() in ("y", "yes")


def _forget(folder: Path) -> None:
    """Removes the ended runs of a folder, which is gone, from the runs of this kernel."""
    for name, run in list(registry.runs.items()):
        if _folder(run.logdir) == folder:
            registry.runs.pop(name, None)
