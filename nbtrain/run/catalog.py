"""The checkpoints of a run, and their lines in its journal."""

from __future__ import annotations

import contextlib
from pathlib import Path

from nbtrain.checkpoints.files import Restored, Saver, listed
from nbtrain.checkpoints.listing import Listing, on_the_way
from nbtrain.core.errors import CheckpointError
from nbtrain.core.states import Checkpoint
from nbtrain.run.monitor import Monitor
from nbtrain.rundir.entries import entries
from nbtrain.rundir.folder import LAST_GOOD
from nbtrain.rundir.lineage import run_of


class Catalog(Listing):
    """The checkpoints that can be restored; only the training thread logs them."""

    def __init__(self, monitor: Monitor) -> None:
        super().__init__()
        self._monitor = monitor
        self._in_use = False

    def begin(self, saver: Saver) -> bool:
        """Lists a saver's folder, and logs checkpoints that the journal does not contain.

        Returns:
            Whether this is the first saver of this start.
        """
        in_use, self._in_use = self._in_use, True
        if not in_use:
            self.timeline = self._monitor.timeline()
        self.read(saver.directory)
        for held in self.checkpoints:
            if not self.timeline.knows(held):
                when = round(held.wall_time, 3)
                self._monitor.log(
                    event="found", step=held.step, wall_time=when, checkpoint=held.path
                )
        self.read(saver.directory)
        self._monitor.notices.note("state", saver.mended)
        return not in_use

    def below(self, step: int) -> tuple[Checkpoint, ...]:
        """Returns the checkpoints below a step that are not abandoned."""
        return tuple(each for each in self.checkpoints if not each.abandoned and each.step < step)

    def on_the_way(self) -> tuple[Checkpoint, ...]:
        """Returns the checkpoints on the current branch, without copies; if there are none, all.

        Raises:
            CheckpointError: There are only copies; the message names the newest.
        """
        own = [held for held in self.checkpoints if Path(held.path).parent.name != LAST_GOOD]
        if self.checkpoints and not own:
            steps = ", ".join(f"{held.step:,}" for held in self.checkpoints)
            raise CheckpointError(
                f"No checkpoint was saved yet, and of the copies of good states, of steps {steps}, "
                f"none is taken by default: run.restore({self.checkpoints[-1].step}) takes the "
                "newest."
            )
        return on_the_way(own)

    def add_copy(self, copies: Path, saver: Saver) -> None:
        """Logs the newest checkpoint in a folder of copies."""
        for held in listed(copies)[-1:]:
            self._monitor.log(event="copy", step=held.step, checkpoint=held.path)
        self.read(saver.directory)

    def go_back(self, restored: Restored, saver: Saver) -> int | None:
        """Logs a restore; returns its step, or None if the saver's folder does not have it."""
        step, path = restored.step, restored.path
        directory, own = Path(path).parent.resolve(), saver.directory.resolve()
        if own in (directory, *directory.parents):  # a copy is in a folder below
            self._monitor.log(event="back", step=step, checkpoint=path)
        else:
            lines = 0
            with contextlib.suppress(OSError):  # the folder is not of a run
                lines = sum(1 for _ in entries(run_of(Path(path))))
            self._monitor.log(event="origin", step=step, checkpoint=path, lines=lines)
        self.read(saver.directory)  # updates which checkpoints are abandoned
        return step if directory == own else None


def check_listed(step: int, directory: Path) -> None:
    """Raises a CheckpointError if the checkpoint that was just saved cannot be found."""
    if all(held.step != step for held in listed(directory)):
        raise CheckpointError(
            f"The saved checkpoint cannot be found in {directory}: it was deleted at once, or its "
            "saver writes TensorFlow's old format, which is not restored here: leave "
            "write_version= out."
        )
