"""The interface between a panel and its run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from nbtrain.core.commands import Command, Sender
from nbtrain.core.receipts import Receipt
from nbtrain.core.states import Status
from nbtrain.core.text.log_lines import LogLines
from nbtrain.logdir.run_media import RunMedia
from nbtrain.recording.store import ScalarStore
from nbtrain.rundir.journal import Marks
from nbtrain.rundir.mailbox import Address


class Source(Protocol):
    """A run as seen by a panel; every member may be used from any thread."""

    @property
    def scalars(self) -> ScalarStore:
        """The recorded scalars."""

    @property
    def status(self) -> Status:
        """The current status."""

    @property
    def marks(self) -> Marks:
        """The marks of what was done to the run."""

    @property
    def log(self) -> LogLines:
        """The newest lines of the run's log."""

    @property
    def media(self) -> RunMedia:
        """The run's pictures and media."""

    @property
    def mailbox(self) -> Address | None:
        """The mailbox of the run's latest start; None if there is none."""

    @property
    def trained_by(self) -> str | None:
        """The process that trains, in words; None for this process."""

    @property
    def most_checkpoints(self) -> int | None:
        """The most checkpoints that the status lists; None if it lists all."""

    @property
    def receipts(self) -> Sequence[Receipt]:
        """The latest receipts, the newest last."""

    def post(self, command: Command, *, sender: Sender = ...) -> Receipt:
        """Posts a command for the next step boundary; only once for the same id of a sender."""
