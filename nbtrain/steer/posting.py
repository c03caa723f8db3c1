"""Posts commands; the receipt of a trial reports that it waits while the run is paused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from nbtrain.core.commands import NO_SENDER, Command, Sender
from nbtrain.core.receipts import Receipt
from nbtrain.core.states import Phase, Status


class Steered(Protocol):
    """A run that executes commands."""

    @property
    def status(self) -> Status:
        """The current status."""

    def post(self, command: Command, *, sender: Sender = ...) -> Receipt:
        """Queues a command, and returns its receipt."""


# A command, or a function that makes it for a run.
Asked: TypeAlias = Command | Callable[[Steered], Command]


def post(run: Steered, asked: Asked, *, sender: Sender = NO_SENDER) -> Receipt:
    """Posts a command; the receipt of a trial then says whether the run is paused.

    A trial needs steps, and a paused run takes none.

    Raises:
        ArgumentError: There is no such command for this run.
    """

    def held() -> str:
        status = run.status
        if status.phase is not Phase.PAUSED:
            return ""
        return (
            f"The run is paused at step {status.step:,}, and a trial takes steps: it goes on once "
            "the run is resumed, in its panel or by run.resume()."
        )

    command = asked(run) if callable(asked) else asked
    receipt = run.post(command, sender=sender)
    if receipt.takes_steps:
        receipt.held = held
    return receipt
