"""The words about a run in another process that several modules use."""

from __future__ import annotations

from pathlib import Path

from nbtrain.core.states import Checkpoint, Phase, Status
from nbtrain.rundir.log_file import SHOWN_LINES, last_lines
from nbtrain.rundir.names import LOG
from nbtrain.rundir.status_file import Writer
from nbtrain.rundir.timeline import side_folder

# The first line of a launch in the log begins with this.
LAUNCHED = "# nbtrain.launch"


def shown(folder: Path) -> str:
    """Returns the path as a user types it: relative if it is below the working folder."""
    try:
        return str(folder.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(folder)


def of(writer: Writer) -> str:
    """Names the process of a run: `process 4711 on lab-3`."""
    return f"process {writer.process} on {writer.host}"


def how_to_go_on(status: Status, folder: Path) -> str:
    """Says how to start a run again, and from where it goes on."""
    more = "more steps and " if status.phase is Phase.FINISHED else ""
    start = f"Start the run again with {more}logdir={shown(folder)!r}"
    latest = latest_of(status)
    if latest is None:
        return f"{start}: it has no checkpoint, so it starts over."
    return f"{start}: it goes on from its latest checkpoint, step {latest.step:,}."


def latest_of(status: Status) -> Checkpoint | None:
    """The checkpoint from which the next start goes on; None if there is none."""
    own = [held for held in status.checkpoints if not side_folder(held.path)]
    return next((held for held in reversed(own) if not held.abandoned), own[-1] if own else None)


def end_of_log(folder: Path) -> str | None:
    """Returns the last lines that a launched process has printed; None if it was not launched."""
    lines = last_lines(folder / LOG)
    if lines is None:
        return None
    begins = [at for at, line in enumerate(lines) if line.startswith(LAUNCHED)]
    return "\n".join(lines[begins[-1] + 1 if begins else 0 :][-SHOWN_LINES:])
