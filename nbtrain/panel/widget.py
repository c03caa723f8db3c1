"""The base class of nbtrain's widgets: one model and one comm, which close with the widget."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from nbtrain.core.errors import NbtrainError

# The front end reports every 4 s while it is visible: two reports may be lost.
LEASE_SECS = 12.0


class Shown(anywidget.AnyWidget):
    """One widget, in any number of views.

    Args:
        bundle: The file of the front end.
        clock: Returns seconds that never go backwards.

    Attributes:
        layout: None, because ipywidgets makes a second widget, with its own comm, for a layout.
        heard_at: When a page last sent a message; before the first, when the widget was made.
        opened: Whether a page has sent a message.

    Raises:
        NbtrainError: The package was installed without its front end.
    """

    layout = traitlets.Any(None, allow_none=True).tag(sync=True)

    def __init__(self, bundle: Path, clock: Callable[[], float] = time.monotonic) -> None:
        if not bundle.exists():
            raise NbtrainError(
                f"The {bundle.stem}'s front end is missing ({bundle.name}): install nbtrain again; "
                "from a checkout, with `pip install -e .`"
            )
        self._clock = clock
        self.heard_at = clock()
        self.opened = False
        super().__init__(_esm=_source(bundle))
        self.on_msg(self._hear)

    def _hear(self, widget: Any, content: dict[str, Any], buffers: Any) -> None:
        """Passes a message to the handler; "there" only means that a page is open but not visible.

        A malformed message is reported to the page: an error would be printed into a user's cell.
        """
        self.heard_at = self._clock()
        self.opened = True
        if not isinstance(content, dict):
            self.note(f"A message was ignored: {content!r:.80} is not an object")
        elif content.get("t") != "there":
            self._on_message(widget, content, buffers)

    def note(self, text: str) -> None:
        """Reports to the page what went wrong. Any thread may call it."""
        self.send({"t": "note", "text": text})

    def _on_message(self, _widget: Any, content: dict[str, Any], _buffers: Any) -> None:
        """Handles a message of the front end, in a subshell's thread or the main thread."""
        raise NotImplementedError


@functools.cache
def _source(bundle: Path) -> str:
    """Reads a front end; all widgets of a kind share one text."""
    return bundle.read_text(encoding="utf-8")
