"""Checks that a run's folder still exists during the training, and repairs it if not.

A cell or a shell can delete or rename the folder at any time. The open files then have no name,
and another run may take the name of the folder. So the folder and its files are created again. If
another run has the folder now, nothing more is written to it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

from nbtrain.core.errors import BusyError
from nbtrain.recording.recorder import Recorder
from nbtrain.rundir.folder import Logdir


class FolderWatch:
    """Checks and repairs the folder of one start of a run.

    Args:
        logdir: The folder, locked.
        recorder: Writes the event file in the folder.
        tell: Called with the step and a message for the user; the message is None when the
            problem is over.
    """

    def __init__(
        self, logdir: Logdir, recorder: Recorder, tell: Callable[[int, str | None], object]
    ) -> None:
        self._logdir = logdir
        self._recorder = recorder
        self._tell = tell
        self._missed = False  # at the last look
        self._failing = False  # the folder could not be created again
        self._lost: BusyError | None = None
        # One thread repairs at a time. Threads that wait here want to write to the same folder.
        self._looking = threading.Lock()

    @property
    def lost(self) -> bool:
        """True if another run has the folder now: nothing may be written there any more."""
        return self._lost is not None

    def look(self, step: int) -> None:
        """Repairs the folder if it is missing for the second time; called about once a second.

        The first time is ignored: a network folder may be away for a moment, and a folder that is
        just being deleted or replaced should be left alone.

        Args:
            step: Completed steps.
        """
        with self._looking:
            missed, self._missed = self._missed, not self._in_place()
            if self._missed and missed:
                self._mend(step)
            elif self._failing and not self._missed:  # the folder is back by itself
                self._failing = False
                self._tell(step, None)

    def drain(self, step: int) -> None:
        """Repairs the folder if possible, and drains the waiting records; any thread."""
        with contextlib.suppress(BusyError):
            self.make_sure(step)
        self._recorder.drain()

    def make_sure(self, step: int) -> None:
        """Repairs the folder at once; called before a checkpoint is saved and before the end.

        Args:
            step: Completed steps.

        Raises:
            BusyError: Another run has the folder now.
        """
        with self._looking:
            if not self._in_place():
                self._mend(step)
            if self._lost is not None:
                raise BusyError(str(self._lost), run=self._lost.run)

    def _in_place(self) -> bool:
        held = self.lost or self._logdir.lock.in_place
        return held and self._recorder.in_place

    def _mend(self, step: int) -> None:
        lock, recorder = self._logdir.lock, self._recorder
        whole, file = not lock.in_place, recorder.event_file
        what = f"The folder {self._logdir.path}" if whole or file is None else f"The file {file}"
        told = f"{what} was deleted or renamed"
        self._failing = False
        try:
            lock.take_anew()
            if recorder.in_place:  # only the lock was deleted; nothing is lost
                return
            recorder.reopen()
        except BusyError as error:
            self._lost = error
            recorder.give_up()
            self._tell(
                step,
                f"{told}. From step {step:,} on this run writes nothing there, neither scalars nor "
                f"checkpoints: {error} What this run trains is in memory only: save it yourself, "
                "then start it under another name=.",
            )
        except OSError as error:
            self._failing = True
            self._tell(step, f"{told}, and cannot be made again: {error.strerror or error}.")
        else:
            restorable = "; run.checkpoints has what is left, run.save() saves now" if whole else ""
            self._tell(
                step,
                f"{told}. Scalars from step {step:,} on are in a new one, all of them in "
                f"run.scalars{restorable}.",
            )
