"""The warnings of a run in a script: above its line in a terminal, or as lines of a log.

A program whose standard error is a file or a pipe shows no line, only the warnings.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from typing import Protocol

from nbtrain.core.states import Phase, Status
from nbtrain.core.text.visible import say

# A warning, with the lines of a stack that are indented below it.
_PARAGRAPHS = re.compile(r"^\S.*(?:\n[ \t].*)*", re.MULTILINE)
_NUMBER = re.compile(r"\d+")


class Watched(Protocol):
    """A run with a line, or with lines in a log."""

    name: str

    @property
    def status(self) -> Status:
        """The current status."""

    @property
    def is_over(self) -> bool:
        """True if the run has ended and all of its data was read."""

    def on_tick(self, listener: Callable[[], object]) -> Callable[[], object]:
        """Calls a function ten times a second until the run ends, and once after its end."""


class Warnings:
    """The warnings of one run that were shown."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def new(self, status: Status) -> Iterator[str]:
        """Yields each new warning; a warning is not new if only its numbers have changed.

        The message of a pause is left out, because the code that waits for the run writes it.
        """
        if status.phase is Phase.PAUSED:
            return
        for text in _PARAGRAPHS.findall(status.message or ""):
            topic = _NUMBER.sub("", text.partition("\n")[0])
            if topic not in self._said:
                self._said.add(topic)
                yield text


class Lines:
    """Writes the warnings of a run to the standard error; the run's looper calls `tick`."""

    def __init__(self, run: Watched) -> None:
        self._run, self._warnings = run, Warnings()
        self._forget = run.on_tick(self.tick)

    def tick(self) -> None:
        """Writes the new warnings."""
        status, file = self._run.status, sys.stderr
        for text in self._warnings.new(status):
            say(f"{self._run.name}: {text}", file, flush=True)
        if self._run.is_over:
            self._forget()
