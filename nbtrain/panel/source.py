"""The interface between a panel and its run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from nbtrain.core.commands import Command, Receipt
from nbtrain.core.states import Status
from nbtrain.recording.store import ScalarStore
from nbtrain.rundir.journal import Marks


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
    def receipts(self) -> Sequence[Receipt]:
        """The latest receipts, the newest last."""

    def post(self, command: Command) -> Receipt:
        """Posts a command for the next step boundary."""
