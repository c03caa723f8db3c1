"""The exit codes of the command line, and a function that opens a run's folder."""

from __future__ import annotations

from pathlib import Path

from nbtrain.core.errors import ArgumentError, NbtrainError
from nbtrain.remote.attach import opened
from nbtrain.remote.attached import AttachedRun

DONE = 0
REFUSED = 1  # or the run has failed
USAGE = 2
NO_RUN = 3
NO_ANSWER = 4  # or no sign of life
INTERRUPTED = 130  # as a shell reports an interrupt


class NoRunError(NbtrainError):
    """A folder contains no run."""


def run_in(folder: str | Path) -> AttachedRun:
    """Opens the run of a folder, without waiting for its curves.

    Raises:
        NoRunError: The folder contains no run.
    """
    try:
        return opened(folder)
    except ArgumentError as error:
        raise NoRunError(str(error)) from None
