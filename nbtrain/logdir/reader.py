"""A logdir and its runs, read repeatedly as they grow.

Runs are defined as in TensorBoard: folders that hold event files. What this kernel, another one or
another machine writes is seen at the next poll. Nothing is ever written, locked or held open.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque

from nbtrain.core.text.natural import natural
from nbtrain.core.values.direction import Directions
from nbtrain.logdir.bunches import read_small
from nbtrain.logdir.event_run import EventRun
from nbtrain.logdir.folders import Folders, as_text, folder_name
from nbtrain.logdir.series import Places, Points
from nbtrain.tfevents.decode import Decoder

# Seconds between two pieces of a sliced reading: otherwise waiting threads would never get the
# lock.
_TURN_SECS = 0.0005


class Reader:
    """The runs below a folder; any thread may call its methods.

    Args:
        logdir: The folder; one with a scheme, like `gs://`, is read through `tf.io.gfile`.

    Attributes:
        version: A number that changes whenever something was read, or is gone, in any thread.
        gone: Runs without event files; what was read of them is kept.

    Raises:
        ArgumentError: It is not a readable folder.
    """

    def __init__(self, logdir: str, *, verify: bool = True) -> None:
        self.logdir = logdir
        self._decoder = Decoder(verify=verify)
        self.version = 0
        self.gone: list[str] = []
        self._runs: dict[str, EventRun] = {}
        self._folders = Folders(logdir)
        self._lock = threading.RLock()  # protects the runs

    @property
    def runs(self) -> list[str]:
        """The sorted names of the runs: their folders below the logdir; "." is the logdir."""
        with self._lock:
            return sorted(self._runs, key=natural)

    def title(self, run: str) -> str:
        """The name of a run in a sentence: that of its folder for the run "." if it is free."""
        with self._lock:
            own = folder_name(self.logdir) if run == "." else ""
            return own if own and own not in self._runs else run

    def tags(self, run: str, kind: str = "scalars") -> list[str]:
        """The tags of a run's scalars, or of another of its `KINDS`, in order of appearance."""
        with self._lock:
            return list(self._runs[run].of(kind))

    def count(self, run: str, tag: str, kind: str = "scalars") -> int:
        """The number of points, or of values of another kind, of a tag in a run."""
        with self._lock:
            found = self._runs[run].of(kind).get(tag) if run in self._runs else None
            return found.count if found else 0

    def directions(self, run: str) -> Directions:
        """Returns which values of a run's scalars are better, as far as that is known."""
        with self._lock:
            return self._runs[run].directions if run in self._runs else Directions()

    def has_lost_files(self) -> bool:
        """True if it holds data of a file that no longer exists."""
        with self._lock:
            there = {run: set(names) for run, _, names in self._folders.scan()}
            return any(run.files - there.get(name, set()) for name, run in self._runs.items())

    def progress(self) -> float:
        """The fraction read of what was found at the last look: from 0 to 1."""
        with self._lock:
            size = sum(run.size for run in self._runs.values())
            return 1 - sum(run.unread_bytes for run in self._runs.values()) / size if size else 1.0

    def points(self, run: str, tag: str) -> Points:
        """Returns a copy of all points of a tag in a run."""
        with self._lock:
            return self._runs[run].points(tag)

    def places(self, run: str, tag: str, kind: str) -> Places:
        """Returns the file positions of the values of a tag of another kind."""
        with self._lock:
            return self._runs[run].places(kind, tag)

    def skipped(self) -> dict[str, int]:
        """For each run with damaged files, the number of bytes that could not be read."""
        with self._lock:
            return {name: run.skipped for name, run in sorted(self._runs.items()) if run.skipped}

    def doubtful(self) -> dict[str, int]:
        """For each run, the number of records read in spite of a wrong checksum."""
        with self._lock:
            return {name: run.doubtful for name, run in sorted(self._runs.items()) if run.doubtful}

    def unreadable(self) -> dict[str, str]:
        """Folders and files that could not be read at the last attempt, and why."""
        with self._lock:
            found = dict(self._folders.unreadable)
            for run in self._runs.values():
                found |= run.unreadable
            return {as_text(path): why for path, why in found.items()}

    def scan(self) -> None:
        """Finds the current runs and files, and their sizes."""
        with self._lock:
            there = set()
            for run, folder, names in self._folders.scan():
                if run not in self._runs:
                    self._runs[run] = EventRun(folder, self._decoder)
                self._runs[run].scan(names)
                there.add(run)
            gone = sorted(self._runs.keys() - there)
            self.version += gone != self.gone
            self.gone = gone

    def read(self, secs: float = math.inf) -> bool:
        """Reads what was found at the last look, alternating between the runs.

        Args:
            secs: Seconds after which to leave the rest to the next call.

        Returns:
            Whether there was something to read.
        """
        began, any_read = time.monotonic(), False
        with self._lock:
            unread = [run for run in self._runs.values() if run.unread_bytes]
            small = [run for run in unread if run.is_small]
            readers = deque(run.read() for run in unread if not run.is_small)
            readers.appendleft(read_small(small, self._decoder))
        while readers and time.monotonic() - began < secs:
            if secs < math.inf:
                time.sleep(_TURN_SECS)
            with self._lock:
                if next(readers[0], self) is not self:
                    any_read = True
                    self.version += 1
                    readers.rotate(-1)
                else:
                    readers.popleft()
        return any_read
