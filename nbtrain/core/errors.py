"""The tree of errors. Messages say what happened, with the values, then what to do.

NbtrainError
├── ArgumentError      an argument that cannot be used (also a ValueError)
│   └── UnknownArgumentError   one that a function does not take (also a TypeError)
├── PhaseError         an event that the run's phase does not allow (also a RuntimeError)
├── BusyError          the folder or the model is in use by another run (also a RuntimeError)
├── WaitError          an answer or an end that did not come in time (also a TimeoutError)
├── RunFailedError     a run of another process that has failed (also a RuntimeError)
├── CheckpointError    a checkpoint that cannot be written, found or read (also a RuntimeError)
├── UnknownTagError    a tag that was never recorded (also a KeyError)
└── UnknownNameError   an attribute that a run does not have (also an AttributeError)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar


class NbtrainError(Exception):
    """The base of nbtrain's own errors; errors of the user's code pass through unchanged."""

    # IPython shows an error by this function; set by `nbtrain` if IPython is running.
    _render_traceback_: ClassVar[Callable[[NbtrainError], list[str]]]


class ArgumentError(NbtrainError, ValueError):
    """An argument that cannot be used; raised in the calling cell before anything starts."""


class UnknownArgumentError(ArgumentError, TypeError):
    """An argument that a function does not take; the message says which it takes."""


class PhaseError(NbtrainError, RuntimeError):
    """An event that the run's phase does not allow; nothing has changed."""


class BusyError(NbtrainError, RuntimeError):
    """A run that has not ended uses the folder or the model.

    Attributes:
        run: That run's name if it belongs to this kernel; else None.
    """

    def __init__(self, message: str, *, run: str | None = None) -> None:
        super().__init__(message)
        self.run = run


class WaitError(NbtrainError, TimeoutError):
    """An answer, or the end of a run, did not come in time."""


class RunFailedError(NbtrainError, RuntimeError):
    """A run of another process has failed; the message has its error, as text."""


class CheckpointError(NbtrainError, RuntimeError):
    """A checkpoint that cannot be written, found or read; the training continues without it."""


class UnknownTagError(NbtrainError, KeyError):
    """A tag that was never recorded."""

    def __str__(self) -> str:
        """Returns the message as written; a KeyError would quote it."""
        return str(self.args[0])


class UnknownNameError(NbtrainError, AttributeError):
    """An attribute that a run does not have."""
