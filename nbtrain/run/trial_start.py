"""The checkpoint at which a trial begins, in a folder that does not count towards `keep`."""

from __future__ import annotations

from pathlib import Path

from nbtrain.checkpoints.files import Restored, Saver, delete_all, listed
from nbtrain.run.notices import Notices
from nbtrain.rundir.folder import TRIAL
from nbtrain.rundir.timeline import side_folder


class TrialStart:
    """The start of the newest trial of one start of a run; training thread only.

    Attributes:
        undecided: The step at which an undecided trial began; None if there is none.
        alone: Whether no other checkpoint holds the present state.
    """

    def __init__(self, notices: Notices) -> None:
        self._notices = notices
        self.undecided: int | None = None
        self.alone = False

    def look(self, restored: Restored, saver: Saver) -> None:
        """Says that the run goes on with the edits of an undecided trial."""
        begun = listed(saver.directory / TRIAL)
        if begun and begun[-1].path != restored.path:
            self.undecided = begun[-1].step
            name = f"{TRIAL}/{Path(begun[-1].path).name}"
            self._notices.note(
                "trial",
                f"The trial that began at step {self.undecided:,} was not decided: its values "
                f"stay. run.restore({name!r}) goes back before it.",
            )

    def saved(self) -> None:
        """Notes that the start of a new trial was saved, which replaces the one before."""
        self.undecided, self.alone = None, False

    def go_back(self, restored: Restored) -> None:
        """Notes a restore, which may have gone back before the trial."""
        if self.undecided is not None and restored.step <= self.undecided:
            self.undecided = None
            self._notices.note("trial", None)
        self.alone = side_folder(restored.path) == TRIAL

    def delete(self, saver: Saver) -> bool:
        """Deletes the checkpoint once the trial is over; tells if it did.

        The checkpoint stays if the trial was not decided, or if no other checkpoint holds the
        state from which the run goes on.
        """
        if self.undecided is not None or self.alone:
            return False
        delete_all(saver.directory / TRIAL)
        return True
