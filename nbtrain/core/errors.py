"""The tree of errors: what happened, with the values, then what to do.

NbtrainError
├── ArgumentError      an argument that cannot be used (also a ValueError)
├── PhaseError         an event that the run's phase does not allow (also a RuntimeError)
├── BusyError          the folder or the model is held by another run (also a RuntimeError)
├── WaitError          an answer or an end that did not come in time (also a TimeoutError)
├── CheckpointError    a checkpoint that cannot be written, found or read (also a RuntimeError)
├── UnknownTagError    a tag that was never recorded (also a KeyError)
└── UnknownNameError   an attribute that a run does not have (also an AttributeError)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar


class NbtrainError(Exception):
    """Whatever nbtrain itself has to say; errors of the user's own code pass through unchanged."""

    # How IPython shows it; `nbtrain` sets it where there is one.
    _render_traceback_: ClassVar[Callable[[NbtrainError], list[str]]]


class ArgumentError(NbtrainError, ValueError):
    """An argument that cannot be used; raised in the calling cell before anything starts."""


class PhaseError(NbtrainError, RuntimeError):
    """An event that the run's phase does not allow; nothing has changed."""


class BusyError(NbtrainError, RuntimeError):
    """The folder, or the model, is held by a run that has not ended.

    Attributes:
        run: That run's name, where it is one of this kernel; else None.
    """

    def __init__(self, message: str, *, run: str | None = None) -> None:
        super().__init__(message)
        self.run = run


class WaitError(NbtrainError, TimeoutError):
    """An answer, or the end of a run, that did not come within the time to wait."""


class CheckpointError(NbtrainError, RuntimeError):
    """A checkpoint that cannot be written, found or read; the training goes on without it."""


class UnknownTagError(NbtrainError, KeyError):
    """A tag that was never recorded."""

    def __str__(self) -> str:
        """The message as written: a KeyError would show it in quotes."""
        return str(self.args[0])


class UnknownNameError(NbtrainError, AttributeError):
    """An attribute that a run does not have."""
