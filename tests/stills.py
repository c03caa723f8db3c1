"""A shown widget and its picture, without a page."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

from nbtrain.notebook import bundles, still
from nbtrain.panel.widget import Shown
from tests.gate import SOON
from tests.panels import Clock


class Widget(Shown):
    """A widget that remembers what it has sent."""

    def __init__(self, clock: Clock) -> None:
        self.sent: list[dict[str, Any]] = []
        self.heard: list[dict[str, Any]] = []
        super().__init__(Path(os.devnull), clock)

    def send(self, content: Any, _buffers: Any = None) -> None:
        self.sent.append(content)

    def _on_message(self, _widget: Any, content: dict[str, Any], _buffers: Any) -> None:
        self.heard.append(content)

    def hear(self, content: object) -> None:
        """Passes a message of a page."""
        data = {"method": "custom", "content": content}
        self._handle_msg({"content": {"data": data}, "buffers": []})


class Shows:
    """A shown widget, its picture, and the state of the picture."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.widget = Widget(self.clock)
        self.state: tuple[object, ...] = ("running", 0)
        self.threads: list[str] = []
        self.error: Exception | None = None
        self.still = still.Still(
            self.widget, "text", "words", self.draw, lambda: self.state, self.clock
        )

    def draw(self) -> bundles.Bundle:
        self.threads.append(threading.current_thread().name)
        if self.error:
            raise self.error
        return bundles.bundle(None, f"state {self.state}")

    def after(self, secs: float, state: tuple[object, ...] | None = None) -> int:
        """Looks `secs` later; returns the number of pictures drawn."""
        self.clock.now += secs
        self.state = state or self.state
        before = len(self.threads)
        self.still.draw_if_due()
        if thread := self.still._thread:
            thread.join(SOON)
        return len(self.threads) - before
