"""What a panel is told by, and what it steers: all that it knows of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from nbtrain.core.commands import Command, Receipt
from nbtrain.core.states import Status
from nbtrain.recording.store import ScalarStore
from nbtrain.rundir.journal import Marks


class Source(Protocol):
    """A run, as a panel sees it; every member may be used from any thread."""

    @property
    def scalars(self) -> ScalarStore:
        """The recorded scalars."""

    @property
    def status(self) -> Status:
        """How it stands."""

    @property
    def marks(self) -> Marks:
        """What was done to it."""

    @property
    def receipts(self) -> Sequence[Receipt]:
        """The latest receipts, the newest last."""

    def post(self, command: Command) -> Receipt:
        """Ask for something at the next step boundary."""
