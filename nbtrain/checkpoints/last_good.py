"""Copies of the last good states beside the checkpoints, so that a recovery loses few steps.

The copies are in a separate folder: they do not count towards `keep`, and TensorFlow's
`latest_checkpoint` does not see them. They are deleted once a run has saved its last checkpoint.
"""

from __future__ import annotations

import time
from pathlib import Path

from nbtrain.checkpoints.files import Saver, delete_all
from nbtrain.core.cadence import Every

# The most copies.
LAST_GOOD_KEPT = 3

# The least seconds between two copies, and the share of the time that copying may take.
_SECS, _SHARE = 10.0, 0.01


class LastGood:
    """The copies of one session; training thread only.

    Args:
        begins: Whether the training begins, so that its first state is copied.
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
        """Starts the cadence of the copies at this step."""
        self._due.start(step, time.monotonic())

    def saved(self, step: int) -> None:
        """Notes that the present state was saved, so that it needs no copy."""
        self._begins = False
        self.start(step)

    def begin(self) -> None:
        """Makes the next copy due, because no checkpoint contains the present state."""
        self._begins = True

    def due(self, step: int) -> bool:
        """Returns whether a copy is due; if so, restarts the cadence."""
        begins, self._begins = self._begins, False
        self._asked = time.monotonic()
        return self._due(step, self._asked) or begins

    def save(self, step: int) -> int:
        """Copies the present state, after a call of `due`; see `Saver.save`."""
        try:
            return self._saver.save(step)
        finally:
            now = time.monotonic()  # the time since `due` includes the check of the state
            self._due = Every(secs=max(_SECS, (now - self._asked) / _SHARE))
            self._due.start(step, now)

    def clear(self) -> None:
        """Deletes the copies."""
        delete_all(self._saver.directory)
