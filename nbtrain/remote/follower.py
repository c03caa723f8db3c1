"""Follows the folder of a run in another process, ten times a second.

follower = Follower(folder, sign, receipts)
follower.tick()             # reads the new contents
follower.scalars["loss"]    # and marks, log, media
follower.liveness.status

One tick reads, in this order: the answers to commands, `status.json`, the journal, the log, and
(twice a second) the event files. Then the receipts get their answers, so that the effects of a
command are visible once it is answered, and the listeners display the run. An error becomes a
message.
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
from nbtrain.core.text.log_lines import LogLines
from nbtrain.logdir.run_media import RunMedia
from nbtrain.recording.store import ScalarStore
from nbtrain.remote.curves import Curves
from nbtrain.remote.liveness import Liveness
from nbtrain.remote.outbox import Outbox
from nbtrain.rundir import status_file
from nbtrain.rundir.files import Malformed, Polled, Untrusted
from nbtrain.rundir.folder import shown
from nbtrain.rundir.journal import JournalTail, Marks
from nbtrain.rundir.log_file import LogTail
from nbtrain.rundir.names import LOG
from nbtrain.rundir.status_file import SignOfLife

TICK_SECS = 0.1

# Seconds between two polls of the curves, and seconds of reading in one of them.
_CURVES_SECS = 0.5
_READ_SECS = 0.05

# Seconds for which a run that has failed is still followed.
_FAILED_SECS = 60.0

# Ticks from an end in the file until it is accepted: meanwhile, the last lines and points are read,
# which other threads of the run may write a moment later.
_END_TICKS = 3

# Ticks until a file that is not JSON is reported: a share may show a part of it for a moment.
_DOUBT_TICKS = 10


class Follower:
    """Reads the folder of one run; one thread ticks.

    Args:
        folder: The run's folder.
        sign: Its last sign of life.
        receipts: The latest receipts of the attached run.
        clock: Returns seconds that never go backwards.

    Attributes:
        scalars: The points that were read.
        marks: The marks that were read.
        log: The lines of the log that were read.
        media: The pictures and media that were found.
        notes: Messages about reading.
        listeners: Called at the end of each tick.
        caught_up: Set once everything in the folder has been read.
        liveness: Whether the run is alive.
        outbox: The commands to the run.
    """

    def __init__(
        self,
        folder: Path,
        sign: SignOfLife,
        receipts: deque[Receipt],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.scalars, self.marks, self.log = ScalarStore(), Marks(), LogLines()
        self.media = RunMedia(folder, clock)
        self.notes = Notes()
        self.listeners: list[Callable[[], object]] = []
        self.caught_up = threading.Event()
        self.liveness = Liveness(folder, sign, clock=clock)
        self.liveness.update(there=True)  # so that the first status knows if the process is gone
        self.outbox = Outbox(folder, receipts, self.liveness, clock=clock)
        self._folder, self._clock = folder, clock
        self._status = StatusTail(folder, self.notes.note)
        self._journal = JournalTail(folder, self.marks)
        self._lines = LogTail(folder / LOG)
        self._curves = Curves(folder, self.scalars, lambda: self.marks.timeline)
        self._curves_due = 0.0
        self._failed_at = -math.inf

    @property
    def has_ended(self) -> bool:
        """True if the run has ended or its process is gone."""
        return self.liveness.refusal is not None

    @property
    def is_done(self) -> bool:
        """True if the run has ended by itself, and everything is read and answered.

        A run that fails is followed for another minute: a cluster may start it again.
        """
        ended = self.liveness.sign.status.phase.ended
        failed = self._clock() - self._failed_at < _FAILED_SECS
        return ended and self.caught_up.is_set() and not (failed or self.outbox.waiting)

    def tick(self) -> bool:
        """Reads the new contents, and calls the listeners; returns whether more is left to read."""
        answers: list[tuple[str, Outcome]] = []
        self._guarded("mailbox", lambda: answers.extend(self.outbox.poll()))
        self._guarded("status", self._read_status)
        self._guarded("journal", self._read_journal)
        self._guarded("log", lambda: self.log.add(self._lines.poll()))
        self._guarded("curves", self._read_curves)
        self._guarded("media", lambda: self.media.tick(to_end=self._status.is_ending))
        self._guarded("answers", lambda: self.outbox.answer(answers))
        if (why := self.liveness.refusal) is not None:
            self._guarded("commands", lambda: self.outbox.close(why))
        for listener in list(self.listeners):
            self._guarded("display", listener)
        return self._curves.left

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
        self.liveness.update(there=sign is not None or self._folder.is_dir())

    def _read_journal(self) -> None:
        if self._journal.poll():  # another run has written it, and the event files
            self._curves.begin_again()

    def _read_curves(self) -> None:
        """Reads new points if that is due; reads all at once if the run is ending."""
        ending = self._status.is_ending
        if ending or self._curves.left or self._clock() >= self._curves_due:
            if self._curves.poll(math.inf if ending else _READ_SECS):
                self.caught_up.set()
            self._curves_due = self._clock() + _CURVES_SECS
        self.notes.note("curves", self._curves.error)


class StatusTail:
    """Reads the signs of life in `status.json`, and accepts an end only after a moment.

    Args:
        folder: The run's folder.
        note: Shows a message about a topic; None clears the message.
    """

    def __init__(self, folder: Path, note: Callable[[str, str | None], object]) -> None:
        self._folder, self._note = folder, note
        self._polled = Polled(status_file.read, status_file.FILE)
        self._last: SignOfLife | None = None  # as read
        self._end: SignOfLife | None = None  # read, and not accepted yet
        self._ticks = 0  # since `_end` was read
        self._doubts = 0  # times that the file was not JSON

    @property
    def is_ending(self) -> bool:
        """True if an end was read that is not accepted yet."""
        return self._end is not None

    def poll(self) -> SignOfLife | None:
        """Returns a new sign of life, if there is one; called at every tick."""
        sign = self._new()
        if sign is not None:
            self._end, self._ticks = (sign, 0) if sign.status.phase.ended else (None, 0)
            return None if self.is_ending else sign
        self._ticks += 1
        if self._end is None or self._ticks < _END_TICKS:
            return None
        end, self._end = self._end, None
        return end

    def _new(self) -> SignOfLife | None:
        """Returns the contents of the file; None if they are the same, or there is no file."""
        try:
            sign = self._polled.of(self._folder)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except Untrusted as error:
            self._doubts += 1
            if not isinstance(error, Malformed) or self._doubts > _DOUBT_TICKS:
                self._note(
                    "status", f"{shown(self._folder / status_file.FILE)} cannot be used: {error}."
                )
            return None
        if sign is self._last:
            return None
        self._last, self._doubts = sign, 0
        self._note("status", None)
        return sign
