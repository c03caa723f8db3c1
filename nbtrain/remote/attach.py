"""Opens the folder of a run of another process."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from nbtrain.core.errors import ArgumentError
from nbtrain.remote.attached import AttachedRun
from nbtrain.rundir import entries, status_file
from nbtrain.rundir.files import Malformed, Untrusted
from nbtrain.rundir.folder import shown
from nbtrain.rundir.names import MAILBOX
from nbtrain.rundir.status_file import SignOfLife
from nbtrain.steer import registry, surroundings
from nbtrain.tfevents.names import ENDING

if TYPE_CHECKING:
    from nbtrain.run.run import Run

# Seconds to wait for the first status of a run that has just locked the folder.
_STARTING_SECS = 3.0

# Seconds to wait for the curves: of a live run, and of one that will write no more.
_LIVE_SECS, _ENDED_SECS = 2.0, 60.0

# Runs below a folder that an error message names.
_NAMED = 5


def attach(logdir: str | os.PathLike[str]) -> AttachedRun | Run:
    """Follows and steers a run that trains in another process, through its folder.

    The process may be a script in a terminal, a batch job, another kernel, or on another machine
    that shares the folder. A cell that attaches one run shows its panel at its end. If the
    run has ended, or its process has died, it can still be shown, and commands are refused.

    Whoever may write to the folder can steer the run: neither a port nor a password is needed.

    Args:
        logdir: The run's folder, such as "runs/digits".

    Returns:
        The run; the `Run` itself if it is a live one of this process.

    Raises:
        ArgumentError: No run of this version has trained in the folder; the message describes the
            folder, and gives advice.

    Example:
        >>> run = nbtrain.attach("runs/digits")
        >>> run.set(learning_rate=1e-4).wait()
    """
    folder = _folder(logdir)
    for run in list(registry.runs.values()):
        if not run.status.phase.ended and run.logdir.resolve() == folder.resolve():
            surroundings.current.show_attached(run)
            return run  # type: ignore[no-any-return]
    attached = opened(folder)
    attached.read(_ENDED_SECS if attached.status.phase.ended else _LIVE_SECS)
    surroundings.current.show_attached(attached)
    return attached


def opened(logdir: str | os.PathLike[str]) -> AttachedRun:
    """Follows the run of a folder, of this process or another one; does not wait for the curves.

    Raises:
        ArgumentError: As in `attach`.
    """
    folder = _folder(logdir)
    return AttachedRun(folder, _sign(folder))


def _folder(logdir: object) -> Path:
    """Returns the folder.

    Raises:
        ArgumentError: The path does not exist, or is not a folder.
    """
    try:
        text = os.fspath(logdir)  # type: ignore[call-overload]
        folder = Path(text).expanduser().absolute()
    except (TypeError, RuntimeError):  # no path; an unknown home
        folder = None
    if folder is None or "://" in text:
        raise ArgumentError(
            f"attach({logdir!r}): give the folder of a run on this machine or on a share, such as "
            "'runs/digits'."
        )
    if folder.is_dir():
        return folder
    name = shown(folder)
    why = f"{name!r} is a file" if folder.exists() else f"There is no folder {name!r}"
    near = _runs_below(folder.parent) if folder.parent.is_dir() else ""
    raise ArgumentError(f"{why}: give the folder of a run.{near}")


def _sign(folder: Path) -> SignOfLife:
    """Returns the last sign of life of the run in a folder.

    Raises:
        ArgumentError: There is no sign of life.
    """
    until = time.monotonic() + _STARTING_SECS
    while True:
        try:
            return status_file.read(folder)
        except FileNotFoundError:
            begun = (folder / "run.json").exists() or (folder / MAILBOX).exists()
            if begun and time.monotonic() < until:
                time.sleep(0.05)  # the run has just started, or its share shows files late
                continue
            raise ArgumentError(_lack(folder)) from None
        except (OSError, Untrusted) as error:
            if isinstance(error, Malformed) and time.monotonic() < until:
                time.sleep(0.05)
                continue
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise ArgumentError(
                f"{shown(folder / status_file.FILE)} cannot be read as the status of a run: {why}. "
                f"nbtrain.scalars({shown(folder)!r}) shows the scalars of its event files."
            ) from None


def _lack(folder: Path) -> str:
    """Describes a folder without a status, with advice."""
    name = shown(folder)
    none = f"{name} has no {status_file.FILE}"
    curves = f"nbtrain.scalars({name!r}) shows its curves."
    if (folder / entries.FILE).exists():
        return (
            f"{none}: its run was last started by an earlier version of nbtrain, or the disk was "
            f"full. {curves} A run that is started again can be attached."
        )
    names = [path.name for path in folder.iterdir()]
    if any(each.endswith(ENDING) or "tfevents" in each for each in names):
        return f"{none}: another program wrote its event files. {curves}"
    below = _runs_below(folder)
    return f"{none}, so no run has trained in it. Give the folder of a run.{below}"


def _runs_below(folder: Path) -> str:
    """Names some runs below a folder, the latest first; "" if there are none."""
    found = [(path.stat().st_mtime, path.parent) for path in folder.glob(f"*/{status_file.FILE}")]
    if not found:
        return ""
    named = [repr(shown(path)) for _, path in sorted(found, reverse=True)[:_NAMED]]
    more = f" and {len(found) - _NAMED:,} more" if len(found) > _NAMED else ""
    return f" Runs there: {', '.join(named)}{more}."
