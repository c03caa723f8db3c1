"""A run of this kernel that has ended, as its panel shows it."""

from __future__ import annotations

import weakref
from dataclasses import replace
from typing import TYPE_CHECKING

from nbtrain.core.commands import NO_SENDER, Command, Note, Sender, Tag
from nbtrain.core.receipts import Outcome, Receipt
from nbtrain.core.states import Status
from nbtrain.steer.annotations import annotate
from nbtrain.steer.requests import Requests

if TYPE_CHECKING:
    from nbtrain.run.run import Run


class EndedRun(Requests):
    """What a panel shows of a run after its end; any thread may use it.

    The panel stays in its cell as long as the kernel lives. It must not keep the model of the run
    in memory, so it refers to the run only weakly.

    Args:
        run: A run that has ended.
    """

    trained_by = None
    mailbox = None

    def __init__(self, run: Run) -> None:
        self._run = weakref.ref(run)
        self._last = run.status
        self.name, self.logdir = run.name, run.logdir
        self.scalars, self.marks, self.receipts = run.scalars, run.marks, run.receipts
        self.log, self.media = run.log, run.media

    @property
    def run(self) -> Run | None:
        """The run; None if nothing else refers to it any more."""
        return self._run()

    @property
    def status(self) -> Status:
        """The state of the run; its tags may have changed since its end."""
        run = self.run
        return replace(self._last, tags=self.marks.tags) if run is None else run.status

    def post(
        self, command: Command, *, at: int | None = None, sender: Sender = NO_SENDER
    ) -> Receipt:
        """Passes a command to the run; if that has gone, only its history can be changed."""
        if (run := self.run) is not None:
            return run.post(command, at=at, sender=sender)
        if isinstance(command, Note | Tag):
            receipt = annotate(self, command, sender)
        else:
            receipt = Receipt(command, sender=sender)
            receipt.answer(Outcome(applied=False, step=self._last.step, text="the run has ended"))
        self.receipts.append(receipt)
        return receipt
