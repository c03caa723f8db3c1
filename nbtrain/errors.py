"""The tree of errors: what happened, with the values, then what to do.

NbtrainError
├── ArgumentError      an argument that cannot be used (also a ValueError)
├── PhaseError         an event that the run's phase does not allow (also a RuntimeError)
├── BusyError          the folder or the model is held by another run (also a RuntimeError)
├── CheckpointError    a checkpoint that cannot be written, found or read (also a RuntimeError)
└── UnknownTagError    a tag that was never recorded (also a KeyError)
"""

from __future__ import annotations


class NbtrainError(Exception):
    """Whatever nbtrain itself has to say; errors of the user's own code pass through unchanged."""


class ArgumentError(NbtrainError, ValueError):
    """An argument that cannot be used; raised in the calling cell before anything starts."""


class PhaseError(NbtrainError, RuntimeError):
    """An event that the run's phase does not allow; nothing has changed."""


class BusyError(NbtrainError, RuntimeError):
    """The folder, or the model, is held by a run that has not ended."""


class CheckpointError(NbtrainError, RuntimeError):
    """A checkpoint that cannot be written, found or read; the training goes on without it."""


class UnknownTagError(NbtrainError, KeyError):
    """A tag that was never recorded."""

    def __str__(self) -> str:
        """The message as written: a KeyError would show it in quotes."""
        return str(self.args[0])
