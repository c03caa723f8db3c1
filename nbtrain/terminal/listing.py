"""The verbs that show runs: `ls` and `status`."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nbtrain.core.states import Phase, Status
from nbtrain.core.text_table import in_columns
from nbtrain.remote.attached import AttachedRun
from nbtrain.remote.liveness import Liveness
from nbtrain.remote.words import of
from nbtrain.rundir import status_file
from nbtrain.rundir.files import Untrusted
from nbtrain.rundir.names import MAILBOX
from nbtrain.rundir.status_file import SignOfLife
from nbtrain.terminal.exits import DONE, NO_ANSWER, REFUSED, NoRunError, run_in

_HEAD = ("run", "phase", "step", "speed", "process", "folder", "tags")

# Seconds without a sign of life after which a run is silent: two signs are missing.
_SILENT_SECS = 2.0

# Folders of a run in which no other run is.
_OWN = {MAILBOX, "checkpoints"}


def ls(options: argparse.Namespace) -> int:
    """Lists the runs below a folder, the latest sign of life first."""
    base = Path(options.folder).expanduser()
    if not base.is_dir():
        raise NoRunError(f"There is no folder {options.folder!r}: give one that holds runs.")
    wanted = {*options.tag}
    shown = [each for each in runs_below(base) if wanted <= {*each[2].tags}]
    if options.json:
        print(json.dumps([fields_of(*each) for each in shown]))
    elif not shown and wanted:
        print(f"No run below {options.folder} has {' and '.join(map(repr, options.tag))}.")
    elif not shown:
        print(f"No run has a {status_file.FILE} below {options.folder}.")
    else:
        rows = [_HEAD, *(_row(*each) for each in shown)]
        tagged = any(row[-1] for row in rows[1:])
        print(in_columns(rows if tagged else [row[:-1] for row in rows]))
    return DONE


def status(options: argparse.Namespace) -> int:
    """Shows how a run stands."""
    with run_in(options.folder) as run:
        silent = is_silent(run)
        found, sign = run.status, run.sign
    if options.json:
        print(json.dumps(fields_of(run.logdir, sign, found)))
    else:
        print(found)
        ago = max(0.0, time.time() - sign.alive)
        print(f"\nLast sign of life {ago:.0f} s ago, from {of(sign.writer)}.")
    if found.phase is Phase.FAILED:
        return REFUSED
    if silent:
        print("No sign of life.", file=sys.stderr)
    return NO_ANSWER if silent else DONE


def is_silent(run: AttachedRun) -> bool:
    """Tells if a live run gives no sign of life; waits for one if the last is old."""
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


def runs_below(base: Path) -> list[tuple[Path, SignOfLife, Status]]:
    """Returns folder, last sign of life and status of the runs below a folder, the latest first."""
    found = sorted(_below(base), key=lambda pair: -pair[1].alive)
    shown = [(folder, sign, Liveness(folder, sign)) for folder, sign in found]
    for folder, _, liveness in shown:
        liveness.look(there=folder.is_dir())
    return [(folder, sign, liveness.status) for folder, sign, liveness in shown]


def fields_of(folder: Path, sign: SignOfLife, found: Status) -> dict[str, Any]:
    """Returns the status as in `status.json`, with what is known of the process."""
    return status_file.fields_of(SignOfLife(sign.writer, sign.alive, found), folder)


def _below(base: Path) -> Iterator[tuple[Path, SignOfLife]]:
    """Yields the folders of runs below a folder, with their last signs of life."""
    for folder, subfolders, names in os.walk(base):
        if status_file.FILE in names:
            subfolders[:] = [name for name in subfolders if name not in _OWN]
            try:
                yield Path(folder), status_file.read(Path(folder))
            except (OSError, Untrusted) as error:
                print(f"{folder}: {status_file.FILE}: {error}", file=sys.stderr)


def _row(folder: Path, sign: SignOfLife, found: Status) -> tuple[str, ...]:
    total = f" of {found.total_steps:,}" if found.total_steps else ""
    speed = "" if found.steps_per_s is None else f"{found.steps_per_s:,.1f}/s"
    where = f"{sign.writer.process} on {sign.writer.host}"
    tags = ", ".join(found.tags)
    return found.name, str(found.phase), f"{found.step:,}{total}", speed, where, str(folder), tags
