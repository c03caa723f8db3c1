"""Commands to a run of another process, and its answers: the sender's side of the mailbox.

outgoing.send(folder, "4f2a", {"command": "pause", "by": "ada"})
outgoing.answer(folder, "4f2a")        # None before the first
outgoing.withdraw(folder, "4f2a")      # unless the run has taken it
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nbtrain.core import own_files
from nbtrain.core.errors import ArgumentError
from nbtrain.rundir import files
from nbtrain.rundir.files import Untrusted
from nbtrain.rundir.mailbox import ANSWERS, ID_ADVICE, VERSION, is_id
from nbtrain.rundir.names import MAILBOX


def send(folder: Path, key: str, fields: Mapping[str, Any]) -> None:
    """Puts a command into a run's mailbox.

    Raises:
        ArgumentError: The id cannot name a command.
        OSError: It cannot be written; FileNotFoundError if the run has no mailbox.
    """
    if not is_id(key):
        raise ArgumentError(f"id={key!r}: {ID_ADVICE}.")
    own_files.check_folder(folder / MAILBOX)
    files.replace(folder / MAILBOX / f"{key}.json", {"nbtrain": VERSION, **fields})


def answer(folder: Path, key: str) -> Mapping[str, Any] | None:
    """Returns the newest answer to a command; None before the first.

    Raises:
        OSError: The answer cannot be read.
    """
    own_files.check_folder(folder / MAILBOX, folder / MAILBOX / ANSWERS)
    try:
        return files.read(folder / MAILBOX / ANSWERS / f"{key}.json")
    except FileNotFoundError:
        return None
    except Untrusted:  # it is being replaced on a share that shows files late
        return None


def withdraw(folder: Path, key: str) -> bool:
    """Takes a command back; returns whether it will never be done, as the run had not taken it."""
    try:
        own_files.check_folder(folder / MAILBOX)
        (folder / MAILBOX / f"{key}.json").unlink()
    except OSError:
        return False
    return True
