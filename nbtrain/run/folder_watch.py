"""Whether a run's folder is still there while it trains, and what is done where it is not.

A cell or a shell can delete or rename it at any time. Then what is open is written to
files that nobody finds, and another run may take the name. So what is gone is made
again and written from then on, or, where another run has the folder now, is left to it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

from nbtrain.core.errors import BusyError
from nbtrain.recording.recorder import Recorder
from nbtrain.rundir.folder import Logdir


class FolderWatch:
    """Looks after the folder of one start of a run.

    Args:
        logdir: The folder, held.
        recorder: Writes the event file in it.
        tell: Is told, with the step, what the user should know; None when that is over.
    """

    def __init__(
        self, logdir: Logdir, recorder: Recorder, tell: Callable[[int, str | None], object]
    ) -> None:
        self._logdir = logdir
        self._recorder = recorder
        self._tell = tell
        self._missed = False  # at the last look
        self._failing = False  # to be made again
        self._lost: BusyError | None = None
        # One mends at a time. Whoever waits here wants to write to the same folder.
        self._looking = threading.Lock()

    @property
    def lost(self) -> bool:
        """Whether another run has the folder now: nothing may be written there any more."""
        return self._lost is not None

    def look(self, step: int) -> None:
        """Mend what was missing at the last look too; to be called every second or so.

        Not at the first: a folder of the network may be away for a moment, and one that is
        being deleted or replaced should be let alone.

        Args:
            step: Steps completed.
        """
        with self._looking:
            missed, self._missed = self._missed, not self._in_place()
            if self._missed and missed:
                self._mend(step)
            elif self._failing and not self._missed:  # it is back by itself
                self._failing = False
                self._tell(step, None)

    def drain(self, step: int) -> None:
        """Drain the records that wait, with the folder in place as far as it can be; any thread."""
        with contextlib.suppress(BusyError):
            self.make_sure(step)
        self._recorder.drain()

    def make_sure(self, step: int) -> None:
        """Mend at once what is missing; before a checkpoint is saved and before the end.

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
            if recorder.in_place:  # only the lock was deleted, and nothing is lost
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
