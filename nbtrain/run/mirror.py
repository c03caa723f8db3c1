"""Copies a run's folder to a store while it trains, by a thread beside the training.

    mirror = Mirror(opened, folder, note, gone)
    mirror.tick()          # the looper, twice a second: copies what is new
    mirror.text            # "ckpt-300, 2 files behind"
    mirror.finish(alive)   # the end of the run: waits until everything is copied

The training never waits for the store, and never fails because of it. An error is told, and tried
again with growing pauses. Stores cannot append to a file, so the journal and the event files are
copied as a whole when they have grown: after each checkpoint, else twice a minute, and large ones
less often.
"""

from __future__ import annotations

import math
import shutil
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from nbtrain.core import mirror_plan, own_files
from nbtrain.core.errors import ArgumentError
from nbtrain.core.mirror_plan import JOURNAL, Snapshot, Step
from nbtrain.run import endings
from nbtrain.rundir import mirror_files
from nbtrain.rundir.folder import Logdir
from nbtrain.rundir.mirror_files import Opened
from nbtrain.rundir.store import words

TICK_SECS = 0.5

# Seconds between two copies of a file that grows; and the share of the time that its copies take.
_GROWN_SECS = 30.0
_GROWN_SHARE = 0.1

# Seconds after a checkpoint in which its scalars come to the event file.
_SETTLED_SECS = 1.0

# The longest pause after an error, in seconds; and at the end of a run.
_PAUSE_SECS, _LAST_PAUSE_SECS = 60.0, 2.0

# Seconds that the end of a run waits: in all, and while nothing can be copied.
_LAST_SECS, _LAST_FAILING_SECS = 600.0, 30.0

# The same at the end of the process, which waits for at most the grace of the run.
_ENDING_FAILING_SECS = 3.0

# Seconds of an answer of which nothing is said.
_QUICK_SECS = 5.0

# Files that a message names.
_NAMED = 3


class Mirror:
    """The mirror of one start of a run; one thread ticks, any thread may read.

    Args:
        opened: The mirror, compared with the folder.
        folder: The run's folder, which it holds locked.
        note: Shows a message about a topic, or (None) clears it.
        gone: Tells if the folder is gone, so that its mirror stays as it is.
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
        self._tries = Tries(clock)
        self._grown: dict[str, tuple[float, float]] = {}  # when a copy ended, and its seconds
        # When checkpoints were copied, as long as that matters.
        self._checkpointed: deque[float] = deque([clock()])
        self._began = clock()  # the last step
        self._last, self._done = threading.Event(), threading.Event()
        self._saying = threading.Lock()  # keeps the last message from being replaced

    @property
    def text(self) -> str:
        """The newest checkpoint that is copied, how far behind it is, and when the next try is."""
        name, behind = self._state
        parts = [name, f"{_files(behind)} behind" if behind else ""]
        if (secs := self._store.waiting_secs) >= _QUICK_SECS:
            parts.append(f"waiting for the store for {secs:.0f} s")
        elif self._tries.failed:
            parts.append(f"next try in {self._tries.left:.0f} s")
        return ", ".join(filter(None, parts))

    def tick(self) -> None:
        """Copies what is new, unless the last try has just failed."""
        last = self._last.is_set()
        if self._done.is_set() or self._gone() or not self._tries.are_due(last=last):
            return
        try:
            is_whole = self._copy_all(last=last)
        except Exception as error:  # noqa: BLE001 - the training goes on without its mirror
            self._tries.fail(since=self._began)
            self._say(f"{self._lack()}: {words(error)}. The training goes on.")
        else:
            self._tries.succeed()
            self._say(None)
            if is_whole and last:
                self._done.set()

    def _say(self, text: str | None) -> None:
        """Shows what a try has come to, unless the end of the run waits for it no longer."""
        with self._saying:
            if not self._done.is_set():
                self._note("mirror", text)

    def finish(self, alive: Callable[[], bool]) -> None:
        """Waits until all is copied at the end of the run, as long as that gets on; any thread.

        Args:
            alive: Tells if the thread that ticks lives.
        """
        until = self._clock() + _LAST_SECS
        self._last.set()
        while not self._done.wait(0.05):
            now = self._clock()
            failing = max(self._tries.failing_secs, self._store.stalled_secs)
            most = _ENDING_FAILING_SECS if endings.are_ending() else _LAST_FAILING_SECS
            if self._gone():
                self._done.set()
            elif not alive() or now > until or failing > most:
                where = f"The files are in {self._folder}: the next start there copies them."
                text = f"The run has ended. {self._lack()}. {where}"
                with self._saying:
                    self._done.set()  # no more copies: another start may have the folder soon
                    self._note("mirror", text)
                if endings.are_ending():
                    endings.say(text)

    def _lack(self) -> str:
        """Says what the mirror lacks."""
        try:
            look = mirror_files.snapshot(self._folder)
        except OSError as error:
            return f"The mirror {self._store.address} lacks what {self._folder} has: {words(error)}"
        known = dict(self._mirrored)  # another thread may be copying
        todo = [*mirror_plan.steps(look, known), *mirror_plan.grown(look, known)]
        lacks = [step.path for step in todo if step.version]
        more = f" and {len(lacks) - _NAMED} more" if len(lacks) > _NAMED else ""
        named = ", ".join(lacks[:_NAMED]) + more
        return f"The mirror {self._store.address} lacks {_files(len(lacks))} ({named})"

    def _copy_all(self, *, last: bool) -> bool:
        """Does what is to be done; tells if it could be done."""
        look = mirror_files.snapshot(self._folder)
        steps = mirror_plan.steps(look, self._mirrored)
        grown = mirror_plan.grown(look, self._mirrored)
        due = [step for step in grown if last or self._is_due(step.path)]
        # The journal first: it has each edit before the checkpoint with it.
        todo = [each for each in grown if each.path == JOURNAL and (steps or each in due)]
        todo += steps + [each for each in due if each.path != JOURNAL]
        self._tell(look, todo)
        with mirror_files.held(self._folder, steps) as places:
            if places is None:  # the run has saved meanwhile
                return False
            for number, step in enumerate(todo, 1):
                if self._done.is_set() or not self._do(step, places):
                    return False
                self._tell(look, todo[number:])
        return True

    def _tell(self, look: Snapshot, todo: Sequence[Step]) -> None:
        name = mirror_plan.latest(look, self._mirrored) or self._state[0]
        self._state = name, sum(step.version is not None for step in todo)

    def _is_due(self, path: str) -> bool:
        """Tells if a file that has grown is to be copied: after a checkpoint, or after a while."""
        now, saved = self._clock(), self._checkpointed
        ended, secs = self._grown.get(path, (-math.inf, 0.0))
        pause = _GROWN_SECS
        if any(ended < at + _SETTLED_SECS <= now for at in saved):
            pause = 0.0
        return now - ended >= max(pause, secs / _GROWN_SHARE)

    def _do(self, step: Step, places: Mapping[str, Path]) -> bool:
        """Does one step; tells if it could be done: the file may have been deleted meanwhile."""
        path = places.get(step.path, self._folder / step.path)
        self._began = self._clock()
        try:
            self._do_now(path, step)
        except FileNotFoundError:  # also if there is no such bucket
            if step.version is None or path.exists():
                raise
            return False
        return True

    def _do_now(self, path: Path, step: Step) -> None:
        if step.version is None:
            self._store.delete(step.path)
            self._mirrored.pop(step.path, None)
            return
        self._mirrored[step.path] = None  # if the copy fails, it is unknown what is there
        if step.content is not None:
            self._store.write(step.content, step.path)
            self._checkpointed.append(self._clock())
            while self._checkpointed[0] < self._clock() - 2 * _GROWN_SECS:
                self._checkpointed.popleft()
        elif mirror_plan.is_growing(step.path):
            began = self._clock()
            self._copy_grown(path, step.path)
            self._grown[step.path] = self._clock(), self._clock() - began
        else:
            self._store.put(path, step.path)
        self._mirrored[step.path] = step.version

    def _copy_grown(self, path: Path, name: str) -> None:
        """Copies a file that may grow meanwhile: first aside, so that its length stays."""
        if name == JOURNAL:
            with own_files.opened(path) as file:
                content = file.read()
            self._store.write(content[: content.rfind(b"\n") + 1], name)
            return
        with tempfile.TemporaryDirectory(prefix="nbtrain-") as aside:
            copy = Path(aside, path.name)
            with own_files.opened(path) as file, open(copy, "xb") as target:
                shutil.copyfileobj(file, target)
            self._store.put(copy, name)


def opened_mirror(address: str | None, folder: Logdir, *, is_branch: bool) -> Opened | None:
    """Opens the mirror of a run, and fetches the run if the folder lacks it; None without a mirror.

    Args:
        address: The folder of the store; None without a mirror.
        folder: The run's folder, which it holds locked.
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


class Tries:
    """When to try again after an error: after 1, 2, 4, ... seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._count, self._at = 0, 0.0  # failures in a row, and the time of the last one
        self._since = 0.0  # when the first of them began

    @property
    def failed(self) -> bool:
        """True if the last try has failed."""
        return self._count > 0

    @property
    def left(self) -> float:
        """Seconds until the next try."""
        return self._left(_PAUSE_SECS)

    @property
    def failing_secs(self) -> float:
        """Seconds since the first failure; 0 if the last try was a success."""
        return self._clock() - self._since if self.failed else 0.0

    def are_due(self, *, last: bool) -> bool:
        """Tells if it is time for a try; at the end of a run, pauses are short."""
        return not self.failed or self._left(_LAST_PAUSE_SECS if last else _PAUSE_SECS) == 0.0

    def _left(self, most: float) -> float:
        pause = min(2.0 ** min(self._count - 1, 10), most)
        return max(0.0, self._at + pause - self._clock())

    def fail(self, since: float | None = None) -> None:
        """Notes a failure.

        Args:
            since: When the try began, which a store that does not answer makes long.
        """
        self._at = self._clock()
        if not self.failed:
            self._since = self._at if since is None else since
        self._count += 1

    def succeed(self) -> None:
        """Notes a success."""
        self._count = 0


def _files(count: int) -> str:
    return f"{count} file{'s' * (count != 1)}"
