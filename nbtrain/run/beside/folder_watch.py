"""Notices that a run's folder was deleted or renamed during the training.

A cell or a shell can delete it at any time, and another run may then use the name of the folder. So
nothing more is written there, and the user is informed once. The training continues in memory.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from nbtrain.core.errors import CheckpointError
from nbtrain.recording.recorder import Recorder
from nbtrain.rundir.folder import Logdir

# Seconds between two checks.
POLL_SECS = 1.0


class FolderWatch:
    """Watches the folder of one start of a run.

    Args:
        report: Reports the loss of the folder or of the event file at a step, with a text.

    Attributes:
        list_again: Called with each check, to list the checkpoints.
        lost: Whether the folder is gone, so that nothing may be written there.
    """

    def __init__(
        self, logdir: Logdir, recorder: Recorder, report: Callable[[int, str], object]
    ) -> None:
        self._logdir = logdir
        self._recorder = recorder
        self._report = report
        self._missed = False  # at the last check
        self._polling = threading.Lock()  # so that the user is informed once
        self.lost = False
        self._reason = ""  # the loss, in words
        self.list_again: Callable[[], object] = lambda: None
        self._due = 0.0

    def is_due(self, now: float) -> bool:
        """Returns whether a check is due: each tick would be too often for a network folder."""
        if now < self._due:
            return False
        self._due = now + POLL_SECS
        return True

    def poll(self, step: int, *, last: bool = False) -> None:
        """Stops writing to the folder if it is missing for the second time.

        Called about once a second. The first time is ignored, except at the `last` check: a network
        folder may be unavailable for a moment.
        """
        with self._polling:
            self._poll(step, last=last)

    def _poll(self, step: int, *, last: bool) -> None:
        lock, recorder = self._logdir.lock, self._recorder
        missed = self._missed
        self._missed = not self.lost and not (lock.in_place and recorder.in_place)
        if not self._missed or not (missed or last):
            return
        if lock.in_place:
            self._report(
                step,
                f"The file {recorder.event_file} was deleted or renamed. From step {step:,} on "
                "the scalars are in run.scalars only.",
            )
        else:
            self._reason = self._text(step)
            self.lost = True
            self._report(step, self._reason)
        recorder.stop_writing()
        if self.lost:  # last, so that no other run writes there before this one has stopped
            lock.release()

    def is_missing(self) -> bool:
        """Returns whether the folder is missing now, or is lost for good."""
        return self.lost or not self._logdir.lock.in_place

    def holds(self, path: Path) -> bool:
        """Returns whether a path is in the folder, and no link leads out of it; any thread."""
        return path.resolve().is_relative_to(self._logdir.path.resolve())

    def is_lost(self, directory: Path) -> bool:
        """Returns whether a folder below the run's may be another run's by now; any thread."""
        if not self.is_missing():
            return False
        directory, own = directory.resolve(), self._logdir.path.resolve()
        return own in (directory, *directory.parents)

    def check(self, step: int) -> None:
        """Raises a CheckpointError if the folder is missing."""
        if self.is_missing():
            raise CheckpointError(self._reason or self._text(step))

    def _text(self, step: int) -> str:
        path = self._logdir.path
        what = f"The file {path / 'run.lock'}" if path.exists() else f"The folder {path}"
        return (
            f"{what} was deleted or renamed. From step {step:,} on this run writes nothing there, "
            "neither scalars nor checkpoints. The training continues in memory: save it yourself, "
            "then start it under another name=."
        )
