"""The checkpoint at which a trial begins, in a folder that does not count towards `keep`."""

from __future__ import annotations

import contextlib
from pathlib import Path

from nbtrain.checkpoints.files import Restored, Saver, delete_all, listed
from nbtrain.core.errors import CheckpointError
from nbtrain.run.beside.notices import Notices
from nbtrain.rundir.entries import entries
from nbtrain.rundir.names import TRIAL, TRIAL_BEST
from nbtrain.rundir.timeline import run_of, side_folder


class TrialStart:
    """The start of the newest trial of one start of a run; training thread only.

    Attributes:
        undecided: The step at which an undecided trial began; None if there is none.
        alone: Whether no other checkpoint contains the present state.
        compares: Whether several values are tried, during which nothing else is saved.
    """

    def __init__(self, notices: Notices) -> None:
        self._notices = notices
        self.undecided: int | None = None
        self.alone = self.compares = False

    def drop_best(self, saver: Saver) -> None:
        """Deletes the best state of a trial that has not ended: the run rewinds to its start."""
        if listed(saver.directory / TRIAL):
            delete_all(saver.directory / TRIAL_BEST)

    def check_saves(self) -> None:
        """Raises a CheckpointError while several values are tried."""
        if self.compares:
            raise CheckpointError(
                "Nothing is saved while several values are tried: the run would go on from one of "
                "them after a kill. Their start is saved; wait for the end of the trial."
            )

    def report_undecided(self, restored: Restored, saver: Saver) -> None:
        """Reports that the run continues with the edits of an undecided trial, or before them."""
        begun = listed(saver.directory / TRIAL)
        if begun and begun[-1].path == restored.path and _is_cut_short(saver):
            self._notices.inform(
                f"Goes on from {restored}. A trial began there and was cut short: the run is back "
                "at its beginning, and nothing was decided."
            )
        if begun and begun[-1].path != restored.path:
            self.undecided = begun[-1].step
            name = f"{TRIAL}/{Path(begun[-1].path).name}"
            self._notices.note(
                "trial",
                f"The trial that began at step {self.undecided:,} was not decided: its values "
                f"stay. run.restore({name!r}) goes back before it.",
            )

    def saved(self) -> None:
        """Records that the start of a new trial was saved, which replaces the one before."""
        self.undecided, self.alone = None, False

    def rewind(self, restored: Restored) -> None:
        """Handles a restore, which may have rewound to before the trial."""
        if self.undecided is not None and restored.step <= self.undecided:
            self.undecided = None
            self._notices.note("trial", None)
        self.alone = side_folder(restored.path) == TRIAL

    def delete(self, saver: Saver) -> bool:
        """Deletes the checkpoint once the trial is over; returns whether it was deleted.

        The checkpoint stays if the trial was not decided, or if no other checkpoint contains the
        state from which the run continues.
        """
        if self.undecided is not None or self.alone:
            return False
        delete_all(saver.directory / TRIAL)
        return True


def _is_cut_short(saver: Saver) -> bool:
    """Returns whether the journal's newest trial has no end."""
    last = None
    with contextlib.suppress(OSError):
        for entry in entries(run_of(saver.directory / "checkpoint")):
            last = entry if entry["event"] == "try" else last
    return last is not None and last.get("applied", True) and "kept" not in last
