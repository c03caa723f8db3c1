"""What can be restored of a run: its checkpoints, and the copies beside them."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from nbtrain.checkpoints.files import at, listed
from nbtrain.core.states import Checkpoint
from nbtrain.rundir.folder import ASIDE, TRIAL
from nbtrain.rundir.lineage import run_of
from nbtrain.rundir.timeline import RunTimeline


class Listing:
    """What can be restored, listed anew when its folder changes; any thread.

    Attributes:
        checkpoints: It, the newest last.
        timeline: Tells in which order it was saved.
    """

    def __init__(self) -> None:
        self.timeline = RunTimeline(Path())
        self.checkpoints: tuple[Checkpoint, ...] = ()
        self._lock = threading.Lock()  # protects all of this; no file is read under it
        self._begun = self._shown = 0  # looks: an older one never replaces a newer
        # When each folder had last, as far as that is settled.
        self._changed: tuple[float, ...] | None = None

    def read(self, directory: Path) -> None:
        """List what is there."""
        self._show(self._begin(), directory, None)

    def read_if_changed(self, directory: Path) -> None:
        """List what is there, where something has come or gone: for every second or so."""
        look, times, now = self._begin(), [], time.time()
        for folder in (directory, *(directory / name for name in ASIDE)):
            times.append(0.0)
            with contextlib.suppress(OSError):  # it is gone, or not to be seen
                times[-1] = folder.stat().st_mtime
        changed = tuple(times)
        if changed != self._changed:
            # What has just changed may change again before the file system's clock ticks.
            settled = all(abs(now - each) > 1 for each in changed)
            self._show(look, directory, changed if settled else None)

    def _begin(self) -> int:
        """The number of a look that begins now."""
        with self._lock:
            self._begun += 1
            return self._begun

    def _show(self, look: int, directory: Path, changed: tuple[float, ...] | None) -> None:
        found = restorable(directory, self.timeline)
        with self._lock:
            if look > self._shown:
                self._shown, self.checkpoints, self._changed = look, found, changed


def restorable(directory: Path, timeline: RunTimeline | None = None) -> tuple[Checkpoint, ...]:
    """The checkpoints of a folder and their copies, in the order they were saved; any thread.

    A copy of a good state that is older than the checkpoint of its name is of a course that was
    abandoned; where a trial begins is another state than what was saved in it at the same step.

    Args:
        directory: The folder.
        timeline: Tells the order; None for that of the run whose folder it is in.
    """
    timeline = timeline or timeline_of(directory)
    copies = (listed(directory / name) for name in ASIDE)
    found = timeline.ordered(listed(directory), *copies)
    saved = {_name(held): held.order for held in found if Path(held.path).parent == directory}
    return tuple(
        held
        for held in found
        if Path(held.path).parent.name == TRIAL or held.order >= saved.get(_name(held), 0)
    )


def latest(directory: Path, timeline: RunTimeline | None = None) -> Checkpoint | None:
    """What a run goes on from: the newest that counts, be it a copy; None where there is none.

    It may lie elsewhere, where the run went back to that and has saved nothing since. Where none
    counts, as what did was deleted, it is the newest.

    Args:
        directory: The folder of the run's checkpoints.
        timeline: As in `restorable`.
    """
    timeline = timeline or timeline_of(directory)
    if timeline.origin is not None and (found := at(timeline.origin)) is not None:
        return found
    return next(reversed(on_the_way(restorable(directory, timeline))), None)


def saved(directory: Path) -> tuple[Checkpoint, ...]:
    """The checkpoints of a folder that count, and no copy; where none does, all of them."""
    held = restorable(directory)
    return on_the_way([each for each in held if Path(each.path).parent == directory])


def on_the_way(held: Sequence[Checkpoint]) -> tuple[Checkpoint, ...]:
    """Those of some checkpoints that were not abandoned; where all were, all of them."""
    return tuple(each for each in held if not each.abandoned) or tuple(held)


def timeline_of(directory: Path) -> RunTimeline:
    """Of the run that saves into a folder."""
    return RunTimeline.of(run_of(directory / "checkpoint"))


def _name(held: Checkpoint) -> str:
    return Path(held.path).name
