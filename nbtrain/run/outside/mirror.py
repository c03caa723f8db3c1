"""Copies a run's folder to a store while it trains, in a thread beside the training.

    mirror = Mirror(opened, folder, note, gone)
    mirror.tick()          # the looper, twice a second: copies new files if that is due
    mirror.text            # "ckpt-300, 2 files behind"
    mirror.finish(alive)   # the end of the run: waits until everything is copied

The training never waits for the store, and never fails because of it. Copies are due after each
checkpoint, and every half a minute; after an error, which a message reports, they are tried again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from nbtrain.core.errors import ArgumentError
from nbtrain.core.text.text_table import counted, some
from nbtrain.run.outside import mirror_files, mirror_plan
from nbtrain.run.outside.mirror_files import Opened
from nbtrain.run.outside.mirror_plan import CopyStep, Snapshot
from nbtrain.run.outside.store import words
from nbtrain.run.process import endings
from nbtrain.rundir.folder import Logdir

TICK_SECS = 0.5

# Seconds between the copies of files that grow: a store cannot append, so each copy is whole.
_PASS_SECS = 30.0

# Seconds after a checkpoint until its scalars are in the event file.
_SETTLED_SECS = 1.0

# Seconds until the next try after an error.
_RETRY_SECS = 10.0

# Seconds that the end of a run waits: in all, and while nothing can be copied.
_LAST_SECS, _LAST_FAILING_SECS = 600.0, 30.0

# The same at the end of the process, which waits for at most the grace of the run.
_ENDING_FAILING_SECS = 3.0


class Mirror:
    """The mirror of one start of a run; one thread ticks, any thread may read.

    Args:
        opened: The mirror, already compared with the folder.
        folder: The run's folder, which the run has locked.
        note: Shows a message about a topic, or (None) clears it.
        gone: Returns whether the folder is gone, so that its mirror stays as it is.
    """

    def __init__(
        self,
        opened: Opened,
        folder: Path,
        note: Callable[[str, str | None], object],
        gone: Callable[[], bool],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store, self._mirrored, self._folder = opened.store, opened.mirrored, folder
        self._note, self._gone, self._clock = note, gone, clock
        self._state = "no checkpoint yet", 0  # the newest whole checkpoint, and the files behind
        self._due = self._began = clock()  # the next copies, and the last step
        self._failing_since: float | None = None
        self._last, self._done = threading.Event(), threading.Event()
        self._saying = threading.Lock()  # keeps the last message from being replaced

    @property
    def text(self) -> str:
        """The newest copied checkpoint, the files behind, and the seconds until the next try."""
        name, behind = self._state
        parts = [name, f"{counted(behind, 'file')} behind" if behind else ""]
        if self._failing_since is not None:
            parts.append(f"next try in {max(0.0, self._due - self._clock()):.0f} s")
        return ", ".join(filter(None, parts))

    def tick(self) -> None:
        """Copies new files if that is due; reports an error."""
        is_pausing = self._failing_since is not None and self._clock() < self._due
        if self._done.is_set() or self._gone() or is_pausing:
            return
        last = self._last.is_set()
        self._began = self._clock()
        try:
            is_whole = self._copy_due(last=last)
        except Exception as error:  # noqa: BLE001 - the training continues without its mirror
            self._due = self._clock() + _RETRY_SECS
            if self._failing_since is None:
                self._failing_since = self._began
            self._say(f"{self._lack()}: {words(error)}. The training continues.")
        else:
            self._failing_since = None
            self._say(None)
            if is_whole and last:
                self._done.set()

    def _say(self, text: str | None) -> None:
        """Shows the outcome of a try, unless the run has stopped waiting for the mirror."""
        with self._saying:
            if not self._done.is_set():
                self._note("mirror", text)

    def finish(self, alive: Callable[[], bool]) -> None:
        """Waits at the end of the run until all is copied, as long as copies progress; any thread.

        Args:
            alive: Returns whether the thread that ticks lives.
        """
        ends = self._clock()
        self._last.set()
        self._due = ends  # a pause after an error ends
        while not self._done.wait(0.05):
            now = self._clock()
            failing = self._store.stalled_secs  # a copy may make progress after an error
            if failing is None and (since := self._failing_since) is not None:
                failing = now - since
            most = _ENDING_FAILING_SECS if endings.are_ending() else _LAST_FAILING_SECS
            if self._gone():
                self._done.set()
            elif not alive() or now - ends > _LAST_SECS or min(now - ends, failing or 0.0) > most:
                where = f"The files are in {self._folder}: the next start there copies them."
                text = f"The run has ended. {self._lack()}. {where}"
                with self._saying:
                    self._done.set()  # no more copies: another start may have the folder soon
                    self._note("mirror", text)
                if endings.are_ending():
                    endings.say(text)

    def _lack(self) -> str:
        """Describes the files that the mirror lacks."""
        try:
            look = mirror_files.snapshot(self._folder)
        except OSError as error:
            return f"The mirror {self._store.address} lacks what {self._folder} has: {words(error)}"
        lacks = mirror_plan.lacking(look, dict(self._mirrored))  # another thread may be copying
        if not lacks:
            return f"The mirror {self._store.address} has checkpoints that the run has deleted"
        return (
            f"The mirror {self._store.address} lacks {counted(len(lacks), 'file')} ({some(lacks)})"
        )

    def _copy_due(self, *, last: bool) -> bool:
        """Copies the files that are due; returns whether the mirror has everything."""
        while True:
            look = mirror_files.snapshot(self._folder)
            steps = mirror_plan.steps(look, self._mirrored)
            if not steps:
                self._update(look)
                return True
            if not (last or self._is_due(steps)) or not self._copy(look, steps):
                return False

    def _is_due(self, steps: Sequence[CopyStep]) -> bool:
        """Returns whether it is time to copy; a new checkpoint makes it soon."""
        now = self._clock()
        if not all(mirror_plan.is_growing(step.path) for step in steps):
            self._due = min(self._due, now + _SETTLED_SECS)
        return now >= self._due

    def _copy(self, look: Snapshot, steps: Sequence[CopyStep]) -> bool:
        """Does all steps; returns False if the run has saved meanwhile, or has stopped waiting."""
        with mirror_files.kept_aside(self._folder, steps) as places:
            if places is None:
                return False
            for step in steps:
                self._update(look)
                if self._done.is_set():
                    return False
                self._update_file(step, places)
        self._update(look)
        self._due = self._clock() + _PASS_SECS
        return True

    def _update(self, look: Snapshot) -> None:
        """Updates how far behind the mirror is."""
        name = mirror_plan.latest(look, self._mirrored) or self._state[0]
        self._state = name, len(mirror_plan.lacking(look, self._mirrored))

    def _update_file(self, step: CopyStep, places: Mapping[str, Path]) -> None:
        self._began = self._clock()
        if step.version is None:
            self._store.delete(step.path)
            self._mirrored.pop(step.path, None)
            return
        self._mirrored[step.path] = None  # if the copy fails, the content of the mirror is unknown
        if step.content is None:
            self._store.put(places[step.path], step.path)
        else:
            self._store.write(step.content, step.path)
        self._mirrored[step.path] = step.version


def opened_mirror(address: str | None, folder: Logdir, *, is_branch: bool) -> Opened | None:
    """Opens the mirror of a run, and fetches the run if the folder lacks it.

    Args:
        address: The folder of the store; None returns None: the run has no mirror.
        folder: The run's folder, which the run has locked.
        is_branch: Whether this is the first start of a branch, which must not be in the mirror.

    Raises:
        ArgumentError: The mirror cannot be used.
    """
    if address is None:
        return None
    if folder.numbered and not is_branch:
        raise ArgumentError(
            f"mirror={address!r} without name=: another machine finds the run in the mirror by its "
            "name. Give name= (or logdir=)."
        )
    if (outside := folder.outside) is not None:
        raise ArgumentError(
            f"mirror={address!r} copies {folder.path}, and checkpoints are saved to {outside}: "
            "give that as logdir=."
        )
    return mirror_files.opened(address, folder.name, folder.path, new=is_branch)
