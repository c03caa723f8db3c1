"""Writes notes and tags of a run that has ended into its journal."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from pathlib import Path

from nbtrain.core.commands import Note, Sender, Tag
from nbtrain.core.errors import ArgumentError, BusyError
from nbtrain.core.receipts import Outcome, Receipt
from nbtrain.rundir import status_file
from nbtrain.rundir.entries import tags_of
from nbtrain.rundir.files import Untrusted
from nbtrain.rundir.folder import Logdir
from nbtrain.rundir.journal import Mark
from nbtrain.steer.requests import Requests


def annotate(run: Requests, command: Note | Tag, sender: Sender) -> Receipt:
    """Writes a note or tags into the journal of a run that has ended; returns the receipt.

    The command is refused if another run trains in the folder now, or the folder is gone.
    """
    receipt, step = Receipt(command, sender=sender), run.status.step
    text, more = described(command)
    try:
        entry = _written(run.logdir, event=receipt.name, step=step, text=text, **more)
    except (ArgumentError, BusyError, OSError) as error:
        receipt.answer(Outcome(False, step, f"The run has ended, and {error}"))
        return receipt
    run.marks.tags = tags_of(entry, run.marks.tags)
    order = max((mark.order for mark in run.marks), default=0.0)
    if (mark := Mark.of(entry, order)) is not None:
        run.marks.add(mark)
    receipt.answer(Outcome(True, step, text))
    return receipt


def described(command: Note | Tag) -> tuple[str, dict[str, object]]:
    """Returns the text of a journal's line, and its further fields."""
    if isinstance(command, Note):
        return command.text, {}
    return ", ".join(command.tags) or "no tags", {"tags": [*command.tags]}


def _show_tags(path: Path, tags: tuple[str, ...]) -> None:
    """Writes new tags to the last status, where other processes read them."""
    with contextlib.suppress(OSError, Untrusted):
        sign = status_file.read(path)
        status = dataclasses.replace(sign.status, tags=tags)
        status_file.write(path, dataclasses.replace(sign, status=status))


def _written(path: Path, **entry: object) -> dict[str, object]:
    """Adds a line to a journal; nobody else may be writing there."""
    if not path.is_dir():
        raise ArgumentError(f"its folder {path} is gone.")
    folder = Logdir(path, None, kind="run", launches=True)
    line = {"wall_time": round(time.time(), 3), "applied": True, **entry}
    folder.lock.acquire()
    try:
        folder.log(**line)
        if isinstance(tags := line.get("tags"), list):
            _show_tags(path, tuple(tags))
    finally:
        folder.lock.release()
    return line
