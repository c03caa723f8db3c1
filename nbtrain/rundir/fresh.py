"""Moves what an earlier run has left in a folder aside, so that a run begins from scratch there."""

from __future__ import annotations

import itertools
from pathlib import Path

from nbtrain.rundir.entries import FILE as JOURNAL
from nbtrain.rundir.log_file import descriptor_of
from nbtrain.rundir.names import LOG

# The files from which a run goes on, by their names in TensorFlow's classes and nbtrain. The lock
# and the mailbox belong to the process, as does a log that it prints to; other files to the user.
_LEFT = (
    "checkpoints",
    "checkpoint",
    "*.ckpt*",
    "graph.pbtxt",
    JOURNAL,
    "events.out.tfevents.*",
)


def move_aside(folder: Path) -> Path | None:
    """Moves the files of an earlier run to `<folder>-before-1`, or the next free number.

    The caller holds the folder locked.

    Returns:
        The folder that they were moved to; None if there were none.

    Raises:
        OSError: They cannot be moved.
    """
    left = sorted({path for pattern in _LEFT for path in folder.glob(pattern)})
    if not left:
        return None
    log = folder / LOG
    if log.is_file() and descriptor_of(log) is None:
        left.append(log)
    aside = _new(folder)
    for path in left:
        path.rename(aside / path.name)
    return aside


def _new(folder: Path) -> Path:
    for number in itertools.count(1):
        aside = folder.with_name(f"{folder.name}-before-{number}")
        try:
            aside.mkdir()
        except FileExistsError:
            continue
        return aside
    raise AssertionError("unreachable")
