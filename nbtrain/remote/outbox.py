"""Sends commands to a run in another process, and reads the answers.

outbox = Outbox(folder, receipts, liveness)
receipt = outbox.post(command)      # any thread: a file in the run's mailbox
found = outbox.poll()               # the attached thread, ten times a second
outbox.answer(found)                # once the status shows the effects
outbox.close("The run has ended.")  # withdraws and refuses commands without an answer
"""

from __future__ import annotations

import contextlib
import getpass
import os
import secrets
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nbtrain.core.command_json import fields_of
from nbtrain.core.commands import NO_SENDER, Command, Restore, Sender, Stop
from nbtrain.core.errors import WaitError
from nbtrain.core.receipts import Outcome, Receipt
from nbtrain.remote.liveness import Liveness
from nbtrain.rundir import mailbox
from nbtrain.rundir.answers import outcome_of
from nbtrain.rundir.folder import shown
from nbtrain.rundir.names import MAILBOX
from nbtrain.rundir.timeline import name_of

# Seconds until a command that an ended run has read but not answered is refused.
_GRACE_SECS = 3.0

# The number of posts whose ids are kept: those of the last minutes, also of a page that sends many.
_IDS_KEPT = 1024


@dataclass(slots=True)
class _Posted:
    """A command that was sent.

    Attributes:
        key: Its id, the name of its file.
        receipt: Its receipt.
        until: The time at which it is refused if it has no answer; None while the run lives.
    """

    key: str
    receipt: Receipt
    until: float | None = None


class Outbox:
    """The commands of one attached run.

    Args:
        folder: The run's folder.
        receipts: The latest receipts, to which each new one is added.
        liveness: The state of the run.
        clock: Returns seconds that never go backwards.

    Attributes:
        thread: Identity of the thread that reads the answers.
    """

    def __init__(
        self,
        folder: Path,
        receipts: deque[Receipt],
        liveness: Liveness,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.thread = 0
        self._folder, self._receipts, self._liveness = folder, receipts, liveness
        self._clock = clock
        self._sent: dict[str, _Posted] = {}
        self._known: dict[str, Receipt] = {}  # by the ids of the senders
        self._shut: str | None = None
        self._lock = threading.Lock()  # protects these three

    def post(
        self, command: Command, *, at: int | None = None, sender: Sender = NO_SENDER
    ) -> Receipt:
        """Sends a command, and returns its receipt at once; any thread.

        A command that cannot be sent is refused with a reason.

        Raises:
            ArgumentError: A part of the command cannot be sent to another process.
        """
        fields = fields_of(self._as_seen_there(command))
        fields |= {"attempt": self._liveness.sign.writer.attempt, "by": sender.by or sender_here()}
        fields |= {} if at is None else {"at": at}
        key = sender.id if mailbox.is_id(sender.id) else secrets.token_hex(8)
        receipt = SentReceipt(command, self.thread, sender)
        with self._lock:
            if sender.id and (known := self._known.setdefault(sender.id, receipt)) is not receipt:
                return known
            if len(self._known) > _IDS_KEPT:
                del self._known[next(iter(self._known))]
            self._receipts.append(receipt)
            refusal = self._shut or self._liveness.refusal
            if refusal is None:
                self._sent[key] = _Posted(key, receipt)
        if refusal is None:
            try:
                mailbox.send(self._folder, key, fields)
            except OSError as error:
                refusal = self._unsent(error)
        if refusal is not None:
            self._refuse(key, receipt, refusal)
        return receipt

    def _as_seen_there(self, command: Command) -> Command:
        """Names a checkpoint relative to the folder, which may be mounted elsewhere in the run."""
        match command:
            case Restore(str(path), halve) if Path(path).is_relative_to(self._folder):
                return Restore(name_of(path), halve)
        return command

    def _unsent(self, error: OSError) -> str:
        where = shown(self._folder / MAILBOX)
        if isinstance(error, FileNotFoundError) and not self._folder.is_dir():
            why = f"the folder {shown(self._folder)} is gone"
        elif isinstance(error, FileNotFoundError):
            why = f"there is no {where}, which the run creates"
        else:
            why = f"{where} cannot be written: {error.strerror or error}"
        return f"the command was not sent: {why}."

    def _refuse(self, key: str, receipt: Receipt, why: str, *, answered: bool = True) -> None:
        with self._lock:
            self._sent.pop(key, None)
        if receipt.outcome is None:
            step = self._liveness.sign.status.step
            receipt.answer(Outcome(applied=False, step=step, text=why, answered=answered))

    @property
    def waiting(self) -> bool:
        """True if a command has no last answer yet."""
        return any(sent.receipt.outcome is None for sent in list(self._sent.values()))

    def poll(self) -> list[tuple[str, Outcome]]:
        """Returns new answers, by the ids of the commands; one thread."""
        found = []
        for key, sent in list(self._sent.items()):
            with contextlib.suppress(OSError):  # the share is unavailable: it is read later
                fields = mailbox.answer_to(self._folder, key)
                outcome = None if fields is None else outcome_of(fields)
                if outcome is not None and outcome != sent.receipt.outcome:
                    found.append((key, outcome))
        return found

    def answer(self, found: list[tuple[str, Outcome]]) -> None:
        """Answers the receipts; the same thread."""
        for key, outcome in found:
            with self._lock:
                sent = self._sent.get(key)
                # The answer to a stop is completed at the end of the run.
                if sent and not (isinstance(sent.receipt.command, Stop) and outcome.applied):
                    del self._sent[key]
            if sent and sent.receipt.outcome is None:
                sent.receipt.answer(outcome)
            elif sent:
                sent.receipt.complete(outcome.text)

    def close(self, why: str) -> None:
        """Withdraws commands that an ended run has not read; refuses those without an answer."""
        now = self._clock()
        for key, sent in list(self._sent.items()):
            if sent.receipt.outcome is not None:
                continue
            if mailbox.withdraw(self._folder, key):
                self._refuse(key, sent.receipt, f"the command was not executed: {why}")
            elif sent.until is None:
                sent.until = now + _GRACE_SECS
            elif now >= sent.until:
                answer = shown(self._folder / MAILBOX / mailbox.ANSWERS / f"{key}.json")
                text = (
                    f"the run has read the command, and did not answer: {why} The next start of "
                    f"the run writes to {answer} whether the command was executed."
                )
                self._refuse(key, sent.receipt, text, answered=False)

    def shut(self, why: str) -> None:
        """Refuses the commands without an answer, and every later command."""
        with self._lock:
            self._shut = why
        for key, sent in list(self._sent.items()):
            if sent.receipt.outcome is None:
                withdrawn = mailbox.withdraw(self._folder, key)
                done = "was not executed" if withdrawn else "was sent, and may still be executed"
                self._refuse(key, sent.receipt, f"the command {done}: {why}", answered=withdrawn)


class SentReceipt(Receipt):
    """The receipt of a command that was sent to another process."""

    def __init__(self, command: Command, thread: int, sender: Sender) -> None:
        super().__init__(command, sender=sender)
        self._reader = thread

    def wait(self, timeout: float | None = None) -> Outcome:
        """Blocks until the command has been answered; see `Receipt.wait`."""
        if self.outcome is None and threading.get_ident() == self._reader:
            raise WaitError(
                f"A function of on_tick cannot wait for {self.name}: its own thread reads the "
                "answer. Remove wait() here."
            )
        return super().wait(timeout)


def sender_here() -> str:
    """Names this process: `ada@lab-3, process 4711`."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):  # a user without a name
        user = str(os.getuid()) if hasattr(os, "getuid") else "somebody"
    return f"{user}@{socket.gethostname()}, process {os.getpid()}"
