"""What can be restored of a run: its checkpoints, and the copies beside them."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from nbtrain.folder.logdir import ASIDE, TRIAL
from nbtrain.folder.way import run_of, ways_back
from nbtrain.saving.checkpoints import listed
from nbtrain.states import Checkpoint


class Listing:
    """What can be restored, listed anew when its folder changes; any thread.

    Attributes:
        checkpoints: It, the newest last.
    """

    def __init__(self) -> None:
        self.checkpoints: tuple[Checkpoint, ...] = ()
        self._lock = threading.Lock()  # protects all of this; no file is read under it
        self._begun = self._shown = 0  # looks: an older one never replaces a newer
        self._changed: float | None = None  # when the folders had last, as far as that is settled

    def read(self, directory: Path) -> None:
        """List what is there."""
        self._show(self._begin(), directory, None)

    def read_if_changed(self, directory: Path) -> None:
        """List what is there, where something has come or gone: for every second or so."""
        look, changed = self._begin(), 0.0
        for folder in (directory, *(directory / name for name in ASIDE)):
            with contextlib.suppress(OSError):  # it is gone, or not to be seen
                changed = max(changed, folder.stat().st_mtime)
        if changed != self._changed:
            # What has just changed may change again before the file system's clock ticks.
            self._show(look, directory, changed if time.time() - changed > 1 else None)

    def _begin(self) -> int:
        """The number of a look that begins now."""
        with self._lock:
            self._begun += 1
            return self._begun

    def _show(self, look: int, directory: Path, changed: float | None) -> None:
        found = restorable(directory)
        with self._lock:
            if look > self._shown:
                self._shown, self.checkpoints, self._changed = look, found, changed


def restorable(directory: Path) -> tuple[Checkpoint, ...]:
    """The checkpoints of a folder and their copies, in the order they were saved; any thread.

    A copy of a good state that is older than the checkpoint of its name is of a course that was
    abandoned; where a trial begins is another state than what was saved in it at the same step.
    """
    found = listed(directory)
    saved = {Path(held.path).name: held.wall_time for held in found}
    copies = [
        held
        for name in ASIDE
        for held in listed(directory / name)
        if name == TRIAL or held.wall_time >= saved.get(Path(held.path).name, 0.0)
    ]
    return tuple(sorted((*found, *copies), key=lambda held: held.wall_time)) if copies else found


def latest(directory: Path) -> Checkpoint | None:
    """What a run goes on from: the newest that counts, be it a copy; None where there is none.

    Where none counts, as what did was deleted, it is the newest.
    """
    held = restorable(directory)
    return next(reversed(counting(held, _backs(directory)) or held), None)


def saved(directory: Path) -> tuple[Checkpoint, ...]:
    """The checkpoints of a folder that count, and no copy; where none does, all of them."""
    own, count = listed(directory), counting(restorable(directory), _backs(directory))
    return tuple(held for held in own if held in count) or own


def _backs(directory: Path) -> list[tuple[int, float]]:
    return ways_back(run_of(directory / "checkpoint"))


def counting(
    held: Sequence[Checkpoint], backs: Sequence[tuple[int, float]]
) -> tuple[Checkpoint, ...]:
    """Those of some checkpoints that lie on the way that led to where the run is.

    Args:
        held: In the order they were saved.
        backs: The steps that the run has gone back to, and when, in their order.
    """
    found: set[Checkpoint] = set()
    step, end = float("inf"), float("inf")  # how far the way leads that is followed backwards
    for to, since in reversed(backs):
        if since > end:  # of a way that was left
            continue
        found |= {each for each in held if each.step <= step and since <= each.wall_time <= end}
        taken = [each.wall_time for each in held if each.step == to and each.wall_time < since]
        step, end = min(step, to), max(taken, default=since)
    found |= {each for each in held if each.step <= step and each.wall_time <= end}
    return tuple(each for each in held if each in found)
