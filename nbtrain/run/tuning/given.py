"""Reports which values a resumed run uses if its program sets other hyperparameters.

given.read()          # before a checkpoint is restored: the values of the program
given.report(values)  # after the restore: the values in use
given.written         # for the journal, where the next start finds them
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

from nbtrain.core.values.hyperparameters import Hyperparameters
from nbtrain.run.beside.notices import Notices
from nbtrain.rundir.entries import entries, numbers_of


class Given:
    """The hyperparameters that a program sets when it starts a run; training thread only.

    A value counts as new only if it differs from the value at the last start. A program that is run
    again sets the same values, and callbacks and edits may have changed them since.

    Attributes:
        written: The values for the journal, by name.
    """

    def __init__(self, hyperparameters: Hyperparameters, folder: Path, notices: Notices) -> None:
        self._hyperparameters, self._folder, self._notices = hyperparameters, folder, notices
        self.written: dict[str, float] = {}

    def read(self) -> None:
        """Reads the values of the program, before a checkpoint sets them."""
        with contextlib.suppress(Exception):  # a variable of a graph may have no value yet
            self.written = self._hyperparameters.live()

    def report(self, values: Mapping[str, float]) -> None:
        """Informs the user of new values that are not used, with the line that sets them."""
        given, before = self.written, self._before()
        # A model in memory has the values of the checkpoint, although the program has set others.
        same = {name for name in given.keys() & before if given[name] == values.get(name)}
        self.written = {name: before[name] if name in same else given[name] for name in given}
        new = {
            name: value
            for name, value in given.items()
            if name in values.keys() & before and value not in (values[name], before[name])
        }
        for name, value in new.items():
            self._notices.inform_too(
                f"{name} is {value:.10g} in the program, and {values[name]:.10g} in the "
                f"checkpoint, which is used. To use the other: run.set({name}={value:.10g})."
            )

    def _before(self) -> Mapping[str, float]:
        found: Mapping[str, float] = {}
        with contextlib.suppress(OSError):  # there is no journal yet
            for entry in entries(self._folder):
                if entry["event"] == "segment" and "given" in entry:
                    found = numbers_of(entry["given"])
        return found
