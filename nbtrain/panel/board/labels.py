"""The tags of the runs on a board: words that a reader can search for."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

from nbtrain.rundir import status_file
from nbtrain.rundir.files import Polled, Untrusted


class Labels:
    """The tags in the folders of runs; one thread.

    Args:
        logdir: The folder of all runs; one with a scheme, such as `gs://`, has no tags.
    """

    def __init__(self, logdir: str) -> None:
        self._logdir = None if "://" in logdir else Path(logdir)
        self._statuses = Polled(status_file.read, status_file.FILE)

    def of(self, runs: Iterable[str]) -> dict[str, list[str]]:
        """Returns the tags of each run that has some, by the run's name."""
        found: dict[str, list[str]] = {}
        if self._logdir is None:
            return found
        for run in runs:
            with contextlib.suppress(OSError, Untrusted):
                if tags := self._statuses.of(self._logdir / run).status.tags:
                    found[run] = list(tags)
        return found
