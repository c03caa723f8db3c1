"""A ring of last good states: copies beside the checkpoints, so that a rescue loses little.

They stand in a folder of their own: `keep` does not count them, TensorFlow's
`latest_checkpoint` does not see them, and once a run has saved its last checkpoint they go.
"""

from __future__ import annotations

import contextlib
import glob
import time
from pathlib import Path

from nbtrain.cadence import Every
from nbtrain.checkpoints import Saver, listed
from nbtrain.logdir import LAST_GOOD
from nbtrain.states import Checkpoint

# How many there are at most.
LAST_GOOD_KEPT = 3

# Seconds between two copies at least, and the share of the time that copying may take.
_SECS, _SHARE = 10.0, 0.01


def restorable(directory: Path) -> tuple[Checkpoint, ...]:
    """The checkpoints of a folder and their copies, in the order they were saved; any thread.

    Of two with one name it is the newer: the other is of a course that was abandoned.
    """
    found, copies = listed(directory), listed(directory / LAST_GOOD)
    if not copies:
        return found
    held = sorted((*copies, *found), key=lambda held: held.wall_time)
    newest = {Path(each.path).name: each for each in held}
    return tuple(each for each in held if newest[Path(each.path).name] is each)


class Ring:
    """The ring of one session; training thread only.

    Args:
        saver: Writes the copies, and keeps the newest few.
        begins: Whether the training begins, and its first state is to be copied.
    """

    def __init__(self, saver: Saver, *, begins: bool) -> None:
        self._saver = saver
        self._begins = begins
        self._due = Every(secs=_SECS)

    def start(self, step: int) -> None:
        """A state has been saved or restored: count from here when the next copy is due."""
        self._due.start(step, time.monotonic())

    def due(self, step: int) -> bool:
        """Whether a copy is due; if so, count anew from here."""
        begins, self._begins = self._begins, False
        return self._due(step, time.monotonic()) or begins

    def copy(self, step: int, began: float) -> int:
        """Copy the state at hand, and return the step that it holds.

        Args:
            step: As in `Saver.save`.
            began: When it was first looked at, by the monotonic clock: that costs time, too.

        Raises:
            CheckpointError: It cannot be written.
        """
        try:
            return self._saver.save(step)
        finally:
            now = time.monotonic()
            self._due = Every(secs=max(_SECS, (now - began) / _SHARE))
            self._due.start(step, now)

    def clear(self) -> None:
        """Delete the copies, and their folder if nothing else is in it."""
        directory = self._saver.directory
        with contextlib.suppress(OSError):
            for held in listed(directory):
                for file in directory.glob(f"{glob.escape(Path(held.path).name)}.*"):
                    file.unlink()
            (directory / "checkpoint").unlink(missing_ok=True)
            directory.rmdir()
