"""Puts the commands for a run of this process into its queue."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from nbtrain.core.commands import (
    NO_SENDER,
    Command,
    Note,
    Restore,
    Save,
    Sender,
    Set,
    Stop,
    Tag,
    Try,
)
from nbtrain.core.errors import ArgumentError
from nbtrain.core.receipts import Outcome, Receipt
from nbtrain.core.states import Event
from nbtrain.run.after_end import carry_out
from nbtrain.steer.annotations import annotate
from nbtrain.steer.requests import Requests, planned

if TYPE_CHECKING:
    from nbtrain.run.attempt import Attempt
    from nbtrain.run.thread.threads import Coordinator


class Steering(Requests):
    """The commands of a run of this process."""

    coord: Coordinator
    attempt: Attempt
    logdir: Path
    receipts: deque[Receipt]

    def post(
        self, command: Command, *, at: int | None = None, sender: Sender = NO_SENDER
    ) -> Receipt:
        """Queues a command; see `Requests.post`."""
        at = planned(command, at)
        if at is None and (receipt := self._after_end(command, sender)) is not None:
            self.receipts.append(receipt)
            return receipt
        step, context = self.attempt.step, self.attempt.context
        why = self._unknown(command) if at is None else None
        receipt = context.commands.post(command, step=step, at=at, sender=sender, refusal=why)
        if receipt.sender is not sender:
            return receipt  # the one of the same command, which came first
        if why is not None:
            context.monitor.log(
                event=receipt.name, step=step, applied=False, text=why, **sender.entry
            )
        self.receipts.append(receipt)
        refused = receipt.outcome is not None and not receipt.outcome.applied
        if isinstance(command, Stop) and not refused:
            self.coord.request_stop()
        return receipt

    def _after_end(self, command: Command, sender: Sender) -> Receipt | None:
        """Carries a command out in the calling thread; None if it needs one that trains."""
        if not self.attempt.context.lifecycle.phase.ended:
            return None
        if isinstance(command, Note | Tag):
            return annotate(self, command, sender)
        if isinstance(command, Save | Restore) and self.attempt.boundary.policy.is_closed:
            return carry_out(self.attempt, self._models, command, sender)
        return None

    def _models(self) -> list[object]:
        """Objects that only one run at a time may train."""
        raise NotImplementedError

    def refuse(self, command: Command, why: str) -> Receipt:
        """Refuses a command at once, and logs that while the run trains."""
        step, context = self.attempt.step, self.attempt.context
        receipt = Receipt(command)
        receipt.answer(Outcome(applied=False, step=step, text=why))
        if context.lifecycle.allows(Event.STOP):
            context.monitor.log(event=receipt.name, step=step, applied=False, text=why)
        self.receipts.append(receipt)
        return receipt

    def _unknown(self, command: Command) -> str | None:
        """Returns why an edit is refused at once: the run trains and lacks a name; else None."""
        context = self.attempt.context
        if not isinstance(command, Set | Try) or not context.lifecycle.allows(Event.STOP):
            return None
        known = context.hyperparameters.values
        names = command.names if isinstance(command, Try) else command.values
        unknown = {name: 0.0 for name in names if name not in known}
        try:
            if unknown and known:
                context.hyperparameters.check(unknown)
        except ArgumentError as error:
            return str(error)
        return None
