"""Keeps the status file of one start of a run."""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from nbtrain.core.states import Status
from nbtrain.rundir import files, status_file
from nbtrain.rundir.files import Untrusted
from nbtrain.rundir.status_file import ALIVE_SECS, SignOfLife, Writer


class StatusWriter:
    """Writes the status about once a second, and when it changes; one thread.

    Args:
        folder: The run's folder.
        clock: Returns seconds that never go backwards.

    Attributes:
        writer: This process and this start of the run.
        launch: Identifies the launch of this process; None if it was not launched, or has started
            another run in the folder.
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        process = psutil.Process()
        self.writer = Writer(
            secrets.token_hex(4), socket.gethostname(), process.pid, process.create_time()
        )
        self._folder = folder
        self._clock = clock
        sign = self._last_sign()
        before = None if sign is None else sign.writer
        self._before = None if before is None or before.launched else self._fields()
        self._known = {before and before.attempt, self.writer.attempt}
        launched = before is not None and before.launched and before.process == process.pid
        self.launch = before.attempt if before is not None and launched else None
        self._state: tuple[object, ...] = ()  # phase and checkpoints, as last written
        self._due = 0.0

    @property
    def is_due(self) -> bool:
        """True if the next sign of life is due."""
        return self._clock() >= self._due

    def write(self, status: Status, *, now: bool = False) -> None:
        """Writes the status if that is due, its phase or checkpoints have changed, or `now`.

        Raises:
            OSError: The status cannot be written.
        """
        clock, state = self._clock(), (status.phase, status.checkpoints)
        if now or clock >= self._due or state != self._state:
            self._due = clock + ALIVE_SECS
            status_file.write(self._folder, SignOfLife(self.writer, time.time(), status))
            self._state = state

    @property
    def has_earlier(self) -> bool:
        """True if there was the status of an earlier start."""
        return self._before is not None

    def restore_earlier(self) -> None:
        """Writes the status that the file had before this start.

        Raises:
            OSError: The status cannot be written.
        """
        if self._before is not None:
            files.replace(self._folder / status_file.FILE, self._before, sync=False)

    def is_of_another(self) -> bool:
        """Returns whether another run has used the folder since this one has released it."""
        sign = self._last_sign()
        return sign is not None and sign.writer.attempt not in self._known

    def _fields(self) -> dict[str, Any] | None:
        """The present fields of the file; None if there is no file."""
        try:
            return files.read(self._folder / status_file.FILE)
        except (OSError, Untrusted):
            return None

    def _last_sign(self) -> SignOfLife | None:
        """The content of the file; None if there is no file."""
        try:
            return status_file.read(self._folder)
        except (OSError, Untrusted):
            return None
