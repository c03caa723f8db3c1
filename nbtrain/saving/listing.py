"""What can be restored of a run: its checkpoints, and the copies beside them."""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path

from nbtrain.folder.logdir import ASIDE, TRIAL
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
