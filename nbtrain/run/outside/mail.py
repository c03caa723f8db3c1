"""Writes the status file of a run and reads its mailbox, five times a second.

A separate thread does this, so that a slow disk delays neither the records nor the panel.

mail = Mail(run, logdir)
mail.tick()        # the looper: writes the status about once a second, posts new commands
mail.tick()        # once more after the end: writes the last status, and the last answers
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from nbtrain.core.command_json import letter_of
from nbtrain.core.command_states import REFUSED, REQUESTED
from nbtrain.core.commands import Command, Sender, Stop
from nbtrain.core.errors import ArgumentError, WaitError
from nbtrain.core.receipts import Outcome, Receipt
from nbtrain.core.states import Status
from nbtrain.run.outside.status_writer import StatusWriter
from nbtrain.rundir import answers
from nbtrain.rundir.entries import Entry, entries
from nbtrain.rundir.folder import Logdir
from nbtrain.rundir.mailbox import Address, Letter, Mailbox

TICK_SECS = 0.2

# The most commands from the mailbox that wait in the queue of the run, which has room for twice as
# many; and how often in a tick that many are read.
_AT_ONCE = 32
_TURNS = 8

# A tick stops after this many answers that cannot be written: on a full disk all fail.
_FAILURES = 16

# Seconds to wait for an answer before the mailbox is read again.
_ANSWER_SECS = 0.05

# Seconds between two deletions of old answers.
_TIDY_SECS = 600.0

_UNANSWERED = (
    "The process ended before it answered. Its journal does not have the command, so it was "
    "probably not done; send it again if it is still wanted."
)
_EARLY = "It was sent before the run was started again; send it again if it is still wanted."


class MailedRun(Protocol):
    """The run that executes the commands."""

    @property
    def status(self) -> Status:
        """The current status."""

    def post(self, command: Command, *, at: int | None = ..., sender: Sender = ...) -> Receipt:
        """Posts a command for the next step boundary."""


@dataclass(slots=True)
class _Sent:
    """A command from the mailbox.

    Attributes:
        receipt: Its receipt.
        planned: Whether the command is for a later step, so that it takes no place in the queue.
        answered: The last outcome that was sent; None before the first.
    """

    receipt: Receipt
    planned: bool
    answered: Outcome | None = None


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer, and whether it is the last one to its command."""

    fields: dict[str, Any]
    last: bool = True


class Mail:
    """The status file and the mailbox of one start of a run; one thread.

    Args:
        run: The run.
        logdir: Its folder, which the run has locked.
        note: Shows a message about a topic, or (None) clears it.
        gone: Returns whether the folder is gone, so that nothing may be written there.
        leaves_as_was: Returns whether this start leaves the folder of an earlier run unchanged.
    """

    def __init__(
        self,
        run: MailedRun,
        logdir: Logdir,
        note: Callable[[str, str | None], object],
        gone: Callable[[], bool],
        *,
        leaves_as_was: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._run = run
        self._folder = logdir.path
        self._note = note
        self._gone, self._leaves_as_was = gone, leaves_as_was
        self._clock = clock
        self._status = StatusWriter(self._folder, clock)
        attempt, launch = self._status.writer.attempt, self._status.launch
        self._mailbox = Mailbox(self._folder, attempt, launch)
        self._sent: dict[str, _Sent] = {}
        self._answers: dict[str, _Answer] = {}  # not written yet
        self._tidy_due = 0.0
        self._opened = False
        self._error: OSError | None = None  # the first one of the last tick

    @property
    def address(self) -> Address:
        """The mailbox of this start."""
        return Address(self._folder.absolute(), self._status.writer.attempt)

    def tick(self) -> None:
        """Writes the status if it is due, posts the new commands, and answers them."""
        status = self._run.status
        if self._gone() or (status.phase.ended and self._status.is_of_another()):
            self._note("mailbox", None)
            return
        failed, self._error = self._error is not None, None
        if not self._opened:
            self._try(self._open)
        elif failed:  # the mailbox may have been deleted
            self._try(self._mailbox.create)
        if self._opened:
            self._try(self._receive)
        # If the run has ended meanwhile, the last tick writes that, after the last answers.
        later = status if status.phase.ended else self._run.status
        if status.phase.ended and self._leaves_as_was() and self._status.has_earlier:
            self._try(self._status.restore_earlier)
        elif status.phase.ended or not later.phase.ended:
            self._try(lambda: self._status.write(later))
        self._try(self._tidy)
        error, text = self._error, None
        if error is not None and not self._gone():
            where = error.filename or self._folder
            text = (
                f"{where} cannot be written: {error.strerror or error}. Other processes may see an "
                "old state of this run, or wait for an answer."
            )
        self._note("mailbox", text)

    def _try(self, act: Callable[[], object]) -> None:
        """Does one part of a tick; an error does not prevent the other parts."""
        try:
            act()
        except OSError as error:
            self._error = self._error or error

    def _tidy(self) -> None:
        if (now := self._clock()) >= self._tidy_due:
            self._tidy_due = now + _TIDY_SECS
            self._mailbox.tidy()

    def _open(self) -> None:
        """Opens the mailbox; answers commands that earlier starts have read but not answered."""
        for key in self._mailbox.open():
            if key not in self._sent:
                self._answer_earlier(key, _UNANSWERED)
        self._opened = True

    def _answer_earlier(self, key: str, why: str) -> None:
        """Answers a command of an earlier start, from its line in the journal if there is one."""
        entry = self._journal.get(key)
        if entry is not None:
            self._answers[key] = _Answer(answers.fields_of_entry(entry))
        else:
            self._refuse(key, why)

    @functools.cached_property
    def _journal(self) -> dict[str, Entry]:
        """The lines of commands that were sent to earlier starts, by their ids."""
        try:
            return {str(entry["id"]): entry for entry in entries(self._folder) if "id" in entry}
        except OSError:
            return {}

    def _receive(self) -> None:
        """Reads commands and answers them by turns: more would fill the queue of the run."""
        for _ in range(_TURNS):
            letters = self._mailbox.receive(_AT_ONCE - len(self._queued))
            for letter in letters:
                self._post(letter)
            self._answer()
            if len(letters) < _AT_ONCE:
                break

    @property
    def _queued(self) -> list[Receipt]:
        """The commands that wait for the next step boundary."""
        sent = self._sent.values()
        return [each.receipt for each in sent if each.answered is None and not each.planned]

    def _answer(self) -> None:
        if queued := self._queued:
            with contextlib.suppress(WaitError):  # most are executed within a few steps
                queued[-1].wait(_ANSWER_SECS)
        for key, sent in list(self._sent.items()):
            outcome = sent.receipt.outcome
            if outcome is None or outcome == sent.answered:
                continue
            self._answers[key] = _Answer(answers.fields_of(sent.receipt.name, outcome))
            sent.answered = outcome
            # The answer to a stop is completed at the end of the run.
            if not (isinstance(sent.receipt.command, Stop) and outcome.applied):
                del self._sent[key]
        self._write_answers()

    def _write_answers(self) -> None:
        """Writes the answers; one that cannot be written delays no other, and is tried again."""
        if not self._answers:
            return
        status = self._run.status  # later than the outcomes
        if not status.phase.ended and any(answer.last for answer in self._answers.values()):
            # The status first, so that the reader of an answer finds its effects there.
            self._try(lambda: self._status.write(status, now=True))
        failures = 0
        for key, answer in list(self._answers.items()):
            write = self._mailbox.close if answer.last else self._mailbox.answer
            del self._answers[key]
            try:
                write(key, answer.fields)
            except OSError as error:
                self._answers[key] = answer  # comes last in the next tick
                self._error = self._error or error
                failures += 1
                if failures == _FAILURES:
                    break
            self._write_status()

    def _write_status(self) -> None:
        """Writes the status if it is due, while many answers are written."""
        if self._status.is_due and not (status := self._run.status).phase.ended:
            self._try(lambda: self._status.write(status))

    def _post(self, letter: Letter) -> None:
        if letter.id in self._sent or letter.id in self._answers:
            return  # a second file of this name
        if letter.is_early:
            self._answer_earlier(letter.id, _EARLY)
            return
        try:
            if letter.refusal:
                raise ArgumentError(f"This command is refused: {letter.refusal}.")
            by = str(letter.fields.get("by") or "another process")[:200]
            command, at = letter_of(letter.fields), letter.fields.get("at")
            receipt = self._run.post(command, at=at, sender=Sender(letter.id, by))
        except ArgumentError as error:
            self._refuse(letter.id, str(error))
            return
        self._sent[letter.id] = _Sent(receipt, planned=at is not None)
        requested = {"state": REQUESTED, "command": receipt.name}
        self._answers[letter.id] = _Answer(requested, last=False)

    def _refuse(self, key: str, why: str) -> None:
        step = self._run.status.step
        self._answers[key] = _Answer({"state": REFUSED, "step": step, "text": why})
