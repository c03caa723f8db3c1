"""Handles the folder of a launched process, in which the first run of the process trains.

`nbtrain.launch` puts this into the folder and names it in the environment of the process:

log.txt        the prints of the process
status.json    phase preparing, so that the run can be attached before it is there
mailbox/       for commands, which wait until the run reads them
script.py      the program, if it was a cell

A run without a name and a logdir uses this folder. If the first run has its own folder, all of
these files move to it, and a symbolic link to it replaces the folder of the launch.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from pathlib import Path

from nbtrain.core import own_files
from nbtrain.core.errors import ArgumentError
from nbtrain.rundir import files, mailbox, status_file
from nbtrain.rundir.files import Untrusted
from nbtrain.rundir.log_file import SHOWN_LINES, last_lines
from nbtrain.rundir.names import LOG, MAILBOX

# The environment variable with the folder that waits for the first run of the process.
VARIABLE = "NBTRAIN_LOGDIR"

# The first line of a launch in the log begins with this.
FIRST_LINE = "# nbtrain.launch"

# The files of a program that was a cell: all of it, and its loop.
SCRIPT, CELL = "script.py", "cell.py"

# Everything that a launch puts into its folder.
_OWN = {LOG, SCRIPT, CELL, status_file.FILE, MAILBOX, "run.lock"}


def waiting() -> Path | None:
    """Returns the folder that waits for the first run of this process; None if there is none."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named and is_waiting(Path(named)) else None


def is_waiting(folder: Path) -> bool:
    """Returns whether a process was launched into a folder, and no run has started there since."""
    try:
        return status_file.read(folder).writer.launched
    except (OSError, Untrusted):
        return False


def printed(folder: Path) -> str | None:
    """Returns the last lines that a launched process has printed; None without a log."""
    lines = last_lines(folder / LOG)
    if lines is None:
        return None
    begins = [at for at, line in enumerate(lines) if line.startswith(FIRST_LINE)]
    return "\n".join(lines[begins[-1] + 1 if begins else 0 :][-SHOWN_LINES:])


def begin(folder: Path) -> None:
    """Handles the start of a run in a locked folder: the first run moves the launch there.

    Raises:
        ArgumentError: The launch cannot move there.
    """
    launch = waiting()
    os.environ.pop(VARIABLE, None)  # neither a later run nor a process that this one starts
    if launch is None or launch.resolve() == folder.resolve():
        return
    others = sorted({path.name for path in launch.iterdir()} - _OWN)
    advice = "Leave out name= and logdir= in one of the two."
    if others:
        raise ArgumentError(
            f"The process was launched for {launch}, and its run is to train in {folder}. {launch} "
            f"holds more than this launch ({', '.join(others[:3])}), so it stays. {advice}"
        )
    try:
        _move(launch, folder)
    except OSError as error:
        raise ArgumentError(
            f"The process was launched for {launch}, and its run is to train in {folder}, which "
            f"cannot take its place: {error.strerror or error}. {advice}"
        ) from error


def _move(launch: Path, folder: Path) -> None:
    """Moves all files of the folder of a launch, and replaces the folder with a link."""
    _move_log(launch / LOG, folder / LOG)
    _move_commands(launch / MAILBOX, folder / MAILBOX)
    for name in (SCRIPT, CELL, status_file.FILE):
        if (launch / name).exists():
            (launch / name).replace(folder / name)
    (launch / "run.lock").unlink(missing_ok=True)
    launch.rmdir()
    # Relative, because the disk may be mounted elsewhere on another machine.
    target = os.path.relpath(folder.resolve(), launch.parent.resolve())
    launch.symlink_to(target, target_is_directory=True)


def _move_commands(old: Path, new: Path) -> None:
    """Moves the waiting commands, also those that are still being written."""
    new.mkdir(mode=0o700, exist_ok=True)
    until = time.monotonic() + mailbox.WRITING_SECS
    while True:
        for path in old.glob("*.json"):
            with contextlib.suppress(FileNotFoundError):  # withdrawn
                path.replace(new / path.name)
        late = time.monotonic() > until
        if late:  # its sender was killed
            files.sweep(old)
        try:
            return old.rmdir()
        except OSError:
            if late:
                raise
        time.sleep(0.01)


def _move_log(old: Path, new: Path) -> None:
    """Appends the log to that of the run, to which this process prints from now on."""
    with (
        own_files.opened(old) as begun,
        open(own_files.descriptor(new, own_files.APPEND), "ab") as log,
    ):
        here = os.fstat(begun.fileno())
        shutil.copyfileobj(begun, log)
        log.flush()
        for number in (1, 2):
            with contextlib.suppress(OSError):  # closed
                found = os.fstat(number)
                if (found.st_dev, found.st_ino) == (here.st_dev, here.st_ino):
                    os.dup2(log.fileno(), number)
    old.unlink()
