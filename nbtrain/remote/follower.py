"""The work of a thread for an attached run, ten times a second.

One tick reads, in this order: the answers to commands, `status.json`, the journal, the log, and
(twice a second) the event files. Then the receipts get their answers, so that what a command did
can be seen once it is answered, and the listeners display the run. An error becomes a message.
"""

from __future__ import annotations

import math
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from pathlib import Path

from nbtrain.core.notes import Notes
from nbtrain.core.receipts import Outcome, Receipt
from nbtrain.core.states import Phase
from nbtrain.remote.liveness import Liveness
from nbtrain.remote.outbox import Outbox
from nbtrain.remote.record_tail import RecordTail
from nbtrain.remote.status_tail import StatusTail
from nbtrain.remote.words import shown
from nbtrain.rundir.status_file import SignOfLife

TICK_SECS = 0.1

# Seconds for which a run that has failed is followed on.
_FAILED_SECS = 60.0


class Follower:
    """Reads the folder of one run; one thread ticks.

    Args:
        folder: The run's folder.
        sign: Its last sign of life.
        receipts: The latest receipts of the attached run.
        clock: Returns seconds that never go backwards.

    Attributes:
        records: The marks and points that were read.
        notes: Messages about the reading.
        listeners: Called at the end of each tick.
        caught_up: Set once all that was there has been read.
    """

    def __init__(
        self,
        folder: Path,
        sign: SignOfLife,
        receipts: deque[Receipt],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.notes = Notes()
        self.records = RecordTail(folder, clock=clock)
        self.listeners: list[Callable[[], object]] = []
        self.caught_up = threading.Event()
        self.liveness = Liveness(folder, sign, clock=clock)
        self.liveness.look(there=True)  # who asks at once is told that the process is gone
        self.outbox = Outbox(folder, receipts, self.liveness, clock=clock)
        self._folder, self._clock = folder, clock
        self._status = StatusTail(folder, self.notes.note)
        self._failed_at = -math.inf

    @property
    def has_ended(self) -> bool:
        """True if the run has ended or its process is gone."""
        return self.liveness.refusal is not None

    @property
    def is_done(self) -> bool:
        """True if the run has ended by itself, and everything is read and answered.

        One that fails is followed for another minute: a cluster may start it again.
        """
        ended = self.liveness.sign.status.phase.ended
        failed = self._clock() - self._failed_at < _FAILED_SECS
        return ended and self.caught_up.is_set() and not (failed or self.outbox.waiting)

    def tick(self) -> bool:
        """Reads what is new, and calls the listeners; returns whether more is left to read now."""
        answers: list[tuple[str, Outcome]] = []
        self._guarded("mailbox", lambda: answers.extend(self.outbox.look()))
        self._guarded("status", self._read_status)
        self._guarded("journal", self.records.poll_marks)
        self._guarded("log", self.records.poll_log)
        self._guarded("curves", self._read_curves)
        self._guarded("media", lambda: self.records.media.tick(to_end=self._status.is_ending))
        self._guarded("answers", lambda: self.outbox.tell(answers))
        if (why := self.liveness.refusal) is not None:
            self._guarded("commands", lambda: self.outbox.settle(why))
        for listener in list(self.listeners):
            self._guarded("display", listener)
        return self.records.left

    def _guarded(self, topic: str, act: Callable[[], object]) -> None:
        """Calls a function; its error becomes a message."""
        try:
            act()
            self.notes.note(f"{topic} failed", None)
        except OSError as error:
            why = error.strerror or str(error)
            where = shown(Path(error.filename or self._folder))
            self.notes.note(f"{topic} failed", f"{where} cannot be read: {why}.")
        except Exception as error:  # noqa: BLE001 - shown, and tried again next tick
            lines = "".join(traceback.format_exception(error, limit=-2))
            self.notes.note(f"{topic} failed", f"The {topic} of {self._folder} failed: {lines}")

    def _read_status(self) -> None:
        was_ending = self._status.is_ending
        if (sign := self._status.poll()) is not None:
            if sign.status.phase is Phase.FAILED and sign != self.liveness.sign:
                self._failed_at = self._clock()
            self.liveness.heard(sign)
        elif was_ending or self._status.is_ending:
            return
        self.liveness.look(there=sign is not None or self._folder.is_dir())

    def _read_curves(self) -> None:
        if self.records.poll_curves(to_end=self._status.is_ending):
            self.caught_up.set()
        self.notes.note("curves", self.records.error)
