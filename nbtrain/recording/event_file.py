"""Writes the records of a run to its event file, as long as there is space.

Records that cannot be written wait in memory, and a message reports them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from nbtrain.core.values.config import Config
from nbtrain.recording.backlog import Backlog, Write
from nbtrain.tfevents.writer import EventWriter


class EventFile:
    """The event file of one start of a run; for one thread at a time.

    Args:
        logdir: Its folder; None writes no file.
        errors: Messages by topic, which it adds to.
    """

    def __init__(self, logdir: Path | None, errors: dict[str, str]) -> None:
        self._writer = EventWriter(logdir) if logdir is not None else None
        self._backlog = Backlog()
        self._errors = errors
        self._begun: tuple[int, Config] | None = None  # step, hyperparameters
        self._described = True  # whether they are in the event file

    @property
    def path(self) -> Path | None:
        """The file; None if there is none."""
        return self._writer.path if self._writer is not None else None

    @property
    def in_place(self) -> bool:
        """True unless the file was deleted or renamed."""
        writer = self._writer
        return writer is None or writer.in_place

    def describe(self, step: int, hyperparameters: Config) -> None:
        """Adds the values with which the run begins; any thread."""
        self._begun, self._described = (step, hyperparameters), False

    def write(self, steps: Sequence[int], write: Write, *, size: int = 0) -> None:
        """Writes records of some steps, after earlier writes that wait for space.

        Args:
            size: How many numbers are written; see `Backlog.add`.
        """
        if self._writer is not None:
            self._backlog.add(steps, write, size=size)
            self.write_on()

    def write_on(self) -> None:
        """Does waiting writes while there is space; a failure becomes a message."""
        if self._begun and not self._described:
            self._described = True
            step, values = self._begun
            self.write([step], lambda writer: writer.hyperparameters(values, time.time()))
        while self._writer is not None and self._backlog:
            try:
                self._backlog.write_next(self._writer)
            except OSError as error:
                self._report_dropped()
                why = f"{self._lacks()}: {words(error)}. They are written once there is room."
                self._errors["event file"] = why
                return
            except Exception as error:  # noqa: BLE001 - the values stay in memory
                self._errors["unwritable"] = f"{self._lacks()}: {words(error)}."
            self._errors.pop("event file", None)

    def end(self, *, failed: bool) -> None:
        """Writes the end of the session that `describe` began."""
        if self._begun:
            now = time.time()
            end = [self._begun[0]]
            self.write(end, lambda writer: writer.session_end(failed=failed, wall_time=now))

    def close(self) -> None:
        """Closes the file; reports the steps that it lacks."""
        writer, self._writer = self._writer, None
        if self._backlog:
            self._errors["event file"] = f"{self._lacks()}."
            self._backlog.clear()
        if writer is not None:
            writer.close()

    def _report_dropped(self) -> None:
        if self._backlog.dropped is not None:
            first, last = self._backlog.dropped
            self._errors["dropped"] = (
                f"Scalars of steps {first:,} to {last:,} are never written to the event file, "
                "which had no room for too long. They are in memory (run.scalars)."
            )

    def _lacks(self) -> str:
        first, last = self._backlog.span
        return (
            f"The event file lacks scalars of steps {first:,} to {last:,}, which are in memory "
            "(run.scalars)"
        )


def words(error: Exception) -> str:
    """Describes an error: the system's message, or its type and message."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return f"{type(error).__name__}: {error}"
