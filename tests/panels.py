"""Panels without a kernel: a run that tests make up, a clock, and what a page shows of them."""

from __future__ import annotations

import dataclasses
import json
from collections import deque
from collections.abc import Callable
from typing import Any

from nbtrain.core.command_queue import CommandQueue
from nbtrain.core.commands import (
    NO_SENDER,
    Command,
    Sender,
)
from nbtrain.core.receipts import Receipt
from nbtrain.core.states import Phase, Status
from nbtrain.core.text.log_lines import LogLines
from nbtrain.logdir.run_media import RunMedia
from nbtrain.panel.live.panel import Panel
from nbtrain.recording.store import ScalarStore
from nbtrain.rundir.journal import Marks
from nbtrain.rundir.mailbox import Address
from tests.front_end import FrontEnd


class FakeRun:
    """A source that remembers what was posted."""

    def __init__(self) -> None:
        self.scalars = ScalarStore()
        self.marks, self.log = Marks(), LogLines()
        self.media = RunMedia("no/such/folder")
        self.receipts: deque[Receipt] = deque(maxlen=8)
        self.status = Status(name="digits", engine="step function", phase=Phase.RUNNING)
        self.mailbox: Address | None = None
        self.trained_by: str | None = None
        self.most_checkpoints: int | None = None
        self.queue = CommandQueue()
        self.queue.open()

    @property
    def posted(self) -> list[Command]:
        return [receipt.command for receipt in self.receipts]

    def post(self, command: Command, *, sender: Sender = NO_SENDER) -> Receipt:
        receipt = self.queue.post(command, sender=sender)
        self.receipts.append(receipt)
        return receipt

    def now(self, **changes: Any) -> None:
        """Changes the status."""
        self.status = dataclasses.replace(self.status, **changes)


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class ShownPanel(Panel):
    """A panel that records its messages to a page."""

    def __init__(self, source: FakeRun, clock: Callable[[], float]) -> None:
        self.sent: list[tuple[dict[str, Any], list[bytes]]] = []
        self.page = FrontEnd()
        super().__init__(source, clock)

    def send(self, content: Any, buffers: Any = None) -> None:
        self.sent.append((content, buffers or []))
        if content["t"] in ("snap", "pts"):
            self.page.receive(json.loads(json.dumps(content)), buffers)

    def kinds(self) -> list[str]:
        """The kinds of messages since the last look."""
        kinds = [content["t"] for content, _ in self.sent]
        self.sent.clear()
        return kinds

    def hear(self, **content: Any) -> None:
        """Passes a message of the front end, as ipywidgets does."""
        data = {"method": "custom", "content": content}
        self._handle_msg({"content": {"data": data}, "buffers": []})
