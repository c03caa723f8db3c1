"""A ring of last good states: copies beside the checkpoints, so that a rescue loses little.

They stand in a folder of their own: `keep` does not count them, TensorFlow's
`latest_checkpoint` does not see them, and once a run has saved its last checkpoint they go.
"""

from __future__ import annotations

import time
from pathlib import Path

from nbtrain.checkpoints.files import Saver, delete_all
from nbtrain.core.cadence import Every

# How many there are at most.
LAST_GOOD_KEPT = 3

# Seconds between two copies at least, and the share of the time that copying may take.
_SECS, _SHARE = 10.0, 0.01


class LastGood:
    """The ring of one session; training thread only.

    Args:
        saver: Writes the copies, and keeps the newest few.
        begins: Whether the training begins, and its first state is to be copied.
    """

    def __init__(self, saver: Saver, *, begins: bool) -> None:
        self._saver = saver
        self._begins = begins
        self._due = Every(secs=_SECS)
        self._asked = 0.0

    @property
    def directory(self) -> Path:
        """The folder of the copies."""
        return self._saver.directory

    def start(self, step: int) -> None:
        """Count from here when the next copy is due."""
        self._due.start(step, time.monotonic())

    def saved(self, step: int) -> None:
        """The state at hand was saved, and needs no copy."""
        self._begins = False
        self.start(step)

    def begin(self) -> None:
        """The state at hand is held by nothing else: it is to be copied."""
        self._begins = True

    def due(self, step: int) -> bool:
        """Whether a copy is due; if so, count anew from here."""
        begins, self._begins = self._begins, False
        self._asked = time.monotonic()
        return self._due(step, self._asked) or begins

    def save(self, step: int) -> int:
        """Copy the state at hand, once it was asked whether that is due; as in `Saver`.

        Raises:
            CheckpointError: It cannot be written.
        """
        try:
            return self._saver.save(step)
        finally:
            now = time.monotonic()  # to look at the state has cost time as well
            self._due = Every(secs=max(_SECS, (now - self._asked) / _SHARE))
            self._due.start(step, now)

    def clear(self) -> None:
        """Delete the copies."""
        delete_all(self._saver.directory)
