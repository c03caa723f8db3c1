"""A command to another process: its receipt, and its sender."""

from __future__ import annotations

import getpass
import os
import socket
import threading

from nbtrain.core.commands import Command, Sender
from nbtrain.core.errors import WaitError
from nbtrain.core.receipts import Outcome, Receipt


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
                "answer. Leave out wait() here."
            )
        return super().wait(timeout)


def sender_here() -> str:
    """Names this process: `ada@lab-3, process 4711`."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):  # a user without a name
        user = str(os.getuid()) if hasattr(os, "getuid") else "somebody"
    return f"{user}@{socket.gethostname()}, process {os.getpid()}"
