"""The checkpoints of a run, and their lines in its journal."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from pathlib import Path

from nbtrain.checkpoints.files import Restored, Saver, listed
from nbtrain.checkpoints.listing import restorable
from nbtrain.core.errors import CheckpointError
from nbtrain.core.states import Checkpoint
from nbtrain.run.beside.monitor import Monitor
from nbtrain.rundir.entries import entries
from nbtrain.rundir.names import ASIDE
from nbtrain.rundir.timeline import RunTimeline, is_copy, on_the_way, run_of


class Catalog:
    """The checkpoints that can be restored: listed by any thread, logged by the training thread.

    Attributes:
        timeline: The order of the checkpoints, and which of them are abandoned.
        checkpoints: The checkpoints and copies that can be restored, the newest last.
        in_use: Whether the checkpoints of this start were listed.
    """

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor
        self.timeline = RunTimeline(Path())
        self.checkpoints: tuple[Checkpoint, ...] = ()
        self.in_use = False
        self._lock = threading.Lock()  # protects these; no file is read under it
        self._begun = self._shown = 0  # numbers of scans: an older one never replaces a newer one
        # The times of the folders' last changes; None if they may change again unnoticed.
        self._changed: tuple[float, ...] | None = None

    def begin(self, saver: Saver) -> bool:
        """Lists a saver's folder, and logs checkpoints that are newer than the journal.

        An older checkpoint gets no line, because a line would make it the newest.

        Returns:
            Whether this is the first saver of this start.
        """
        mended = saver.mended  # first: this repairs the folder
        if is_first := not self.in_use:
            self.timeline = self._monitor.timeline()
        self.read(saver.directory)
        self.in_use = True
        for held in self.checkpoints:
            if math.isinf(held.order):
                when = round(held.wall_time, 3)
                self._monitor.log(
                    event="found", step=held.step, wall_time=when, checkpoint=held.path
                )
        self.read(saver.directory)
        self._monitor.notices.note("state", mended)
        return is_first

    def read(self, directory: Path) -> None:
        """Lists the folder."""
        self._show(self._begin(), directory, None)

    def read_if_changed(self, directory: Path) -> None:
        """Lists the folder if it has changed or is lost; called about once a second."""
        scan, times, now = self._begin(), [], time.time()
        for folder in (directory, *(directory / name for name in ASIDE)):
            times.append(0.0)
            with contextlib.suppress(OSError):  # the folder is gone or cannot be read
                times[-1] = folder.stat().st_mtime
        changed = tuple(times)
        if changed != self._changed or self._monitor.folder.lost:
            # A folder may change twice within one tick of the file system's clock.
            settled = all(abs(now - each) > 1 for each in changed)
            self._show(scan, directory, changed if settled else None)

    def _begin(self) -> int:
        """Returns the number of a scan that begins now."""
        with self._lock:
            self._begun += 1
            return self._begun

    def _show(self, scan: int, directory: Path, changed: tuple[float, ...] | None) -> None:
        """Lists the folder, but not a lost one, whose checkpoints may be another run's."""
        folder = self._monitor.folder
        is_lost = folder.lost and folder.is_lost(directory)
        found = () if is_lost else restorable(directory, self.timeline)
        with self._lock:
            if scan > self._shown:
                self._shown, self.checkpoints, self._changed = scan, found, changed

    def on_the_way(self) -> tuple[Checkpoint, ...]:
        """Returns the checkpoints on the current branch, without copies; if there are none, all.

        Raises:
            CheckpointError: There are only copies; the message names the newest.
        """
        own = [held for held in self.checkpoints if not is_copy(held.path)]
        if self.checkpoints and not own:
            steps = ", ".join(f"{held.step:,}" for held in self.checkpoints)
            named = f"step{'s' * (len(self.checkpoints) > 1)} {steps}"
            raise CheckpointError(
                "No checkpoint was saved yet. There are copies of good states, from "
                f"{named}: run.restore({self.checkpoints[-1].step}) restores the newest."
            )
        return on_the_way(own)

    def add_copy(self, copies: Path, saver: Saver, **entry: object) -> None:
        """Logs the newest checkpoint in a folder of copies, with the fields of its line."""
        for held in listed(copies)[-1:]:
            line = {"event": "copy", "step": held.step, "checkpoint": held.path, **entry}
            self._monitor.log(**line)
        self.read(saver.directory)

    def rewind(self, restored: Restored, saver: Saver) -> int | None:
        """Logs a restore; returns its step, or None if it is not from the saver's folder."""
        step, path = restored.step, restored.path
        directory, own = Path(path).parent.resolve(), saver.directory.resolve()
        if own in (directory, *directory.parents):  # a copy is in a folder below
            self._monitor.log(event="back", step=step, checkpoint=path)
        else:
            lines = 0
            with contextlib.suppress(OSError):  # it is not the folder of a run
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
