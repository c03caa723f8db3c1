"""The verbs that show runs: `ls` and `status`."""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nbtrain.core.states import Phase, Status
from nbtrain.core.text.text_table import in_columns
from nbtrain.core.text.visible import on_one_line, say
from nbtrain.remote.attached import AttachedRun
from nbtrain.remote.liveness import Liveness
from nbtrain.rundir import status_file
from nbtrain.rundir.files import Untrusted
from nbtrain.rundir.names import MAILBOX
from nbtrain.rundir.status_file import SignOfLife
from nbtrain.terminal.exits import DONE, NO_ANSWER, REFUSED, NoRunError, run_in

_HEAD = ("run", "phase", "step", "speed", "process", "folder", "tags")

# Seconds without a sign of life after which a run is silent: two signs are overdue.
_SILENT_SECS = 2.0

# Subfolders of a run that contain no other runs.
_OWN = {MAILBOX, "checkpoints"}


def ls(options: argparse.Namespace) -> int:
    """Lists the runs below a folder, the latest sign of life first."""
    base = Path(options.folder).expanduser()
    if not base.is_dir():
        raise NoRunError(f"There is no folder {options.folder!r}: give one with runs in it.")
    wanted = {*options.tag}
    shown = [each for each in runs_below(base) if wanted <= {*each.status.tags}]
    if options.json:
        say(json.dumps([_fields_of(each) for each in shown]), sys.stdout)
    elif not shown and wanted:
        tags = " and ".join(map(repr, options.tag))
        say(f"No run below {options.folder} has {tags}.", sys.stdout)
    elif not shown:
        say(f"No run has a {status_file.FILE} below {options.folder}.", sys.stdout)
    else:
        rows = [_HEAD, *map(_row, shown)]
        tagged = any(row[-1] for row in rows[1:])
        say(in_columns(rows if tagged else [row[:-1] for row in rows]), sys.stdout)
    return DONE


def status(options: argparse.Namespace) -> int:
    """Shows the status of a run."""
    with run_in(options.folder) as run:
        silent = is_silent(run)
        found, sign = run.status, run.sign
    if options.json:
        say(json.dumps(fields_of(run.logdir, sign, found)), sys.stdout)
    else:
        say(found, sys.stdout)
        ago = max(0.0, time.time() - sign.alive)
        say(f"\nLast sign of life {ago:.0f} s ago, from {sign.writer}.", sys.stdout)
    if found.phase is Phase.FAILED:
        return REFUSED
    if silent:
        say("No sign of life.")
    return NO_ANSWER if silent else DONE


def is_silent(run: AttachedRun) -> bool:
    """Returns whether a live run shows no sign of life; waits for one if the last is old."""
    first = run.sign
    until = time.monotonic() + _SILENT_SECS
    old = abs(time.time() - first.alive) > _SILENT_SECS
    while old and not run.status.phase.ended:
        if run.sign is not first:
            return False
        if time.monotonic() > until:
            return True
        time.sleep(0.05)
    return False


@dataclass(frozen=True, slots=True)
class Listed:
    """A run in a list of runs.

    Attributes:
        folder: The folder of the run.
        sign: The last sign of life.
        status: The status of the run; failed if its process is gone.
        silent: Whether the run has not ended and shows no sign of life.
    """

    folder: Path
    sign: SignOfLife
    status: Status
    silent: bool = False


def runs_below(base: Path) -> list[Listed]:
    """Returns the runs below a folder, the latest sign of life first.

    The clock of another machine may differ. So if the last sign of life from there has an old date,
    this function waits for the next one.
    """
    found = sorted(_below(base), key=lambda pair: -pair[1].alive)
    shown = []
    for folder, sign in found:
        liveness = Liveness(folder, sign)
        liveness.update(there=folder.is_dir())
        shown.append(Listed(folder, sign, liveness.status, liveness.is_silent))
    now, here = time.time(), socket.gethostname()
    waiting = {
        each.folder: each.sign.alive
        for each in shown
        if not each.status.phase.ended
        and each.sign.writer.host != here
        and abs(now - each.sign.alive) > _SILENT_SECS
    }
    until = time.monotonic() + _SILENT_SECS
    while waiting and time.monotonic() < until:
        time.sleep(0.05)
        waiting = {
            folder: at for folder, at in waiting.items() if status_file.alive(folder) in (None, at)
        }
    return [replace(each, silent=each.silent or each.folder in waiting) for each in shown]


def _fields_of(each: Listed) -> dict[str, Any]:
    return fields_of(each.folder, each.sign, each.status) | {"silent": each.silent}


def fields_of(folder: Path, sign: SignOfLife, found: Status) -> dict[str, Any]:
    """Returns the fields of a run's `status.json`, with the status `found`."""
    return status_file.fields_of(SignOfLife(sign.writer, sign.alive, found), folder)


def _below(base: Path) -> Iterator[tuple[Path, SignOfLife]]:
    """Yields the folders of runs below a folder, with their last signs of life."""
    for folder, subfolders, names in os.walk(base):
        if status_file.FILE in names:
            subfolders[:] = [name for name in subfolders if name not in _OWN]
            try:
                yield Path(folder), status_file.read(Path(folder))
            except (OSError, Untrusted) as error:
                say(f"{folder}: {status_file.FILE}: {error}")


def _row(each: Listed) -> tuple[str, ...]:
    found, writer = each.status, each.sign.writer
    phase = f"{found.phase}, no sign of life" if each.silent else str(found.phase)
    total = f" of {found.total_steps:,}" if found.total_steps else ""
    speed = "" if found.steps_per_s is None else f"{found.steps_per_s:,.1f}/s"
    where = f"{writer.process} on {writer.host}"
    tags = ", ".join(found.tags)
    row = found.name, phase, f"{found.step:,}{total}", speed, where, str(each.folder), tags
    return tuple(map(on_one_line, row))
