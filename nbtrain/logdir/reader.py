"""A logdir and its runs, read repeatedly as they grow.

Runs are defined as in TensorBoard: folders that contain event files. The next scan finds what this
kernel, another one or another machine has written. No file is ever written, locked or kept open.
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
from nbtrain.rundir.about import About
from nbtrain.tfevents.decode import Decoder

# Seconds between two pieces of a reading with a time limit: without a pause, waiting threads would
# never get the lock.
TURN_SECS = 0.0005


class Reader:
    """The runs below a folder; any thread may call its methods.

    Args:
        logdir: The folder; one with a scheme, like `gs://`, is read through `tf.io.gfile`.

    Attributes:
        version: A number that changes whenever any thread has read something, or found a run gone.
        gone: Runs whose event files are gone; what was read of them is kept.

    Raises:
        ArgumentError: The logdir is not a readable folder.
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
        """The sorted names of the runs: their paths below the logdir; "." is the logdir itself."""
        with self._lock:
            return sorted(self._runs, key=natural)

    @property
    def by_age(self) -> list[str]:
        """The names of the runs by the times in the names of their first event files."""
        with self._lock:
            return sorted(self.runs, key=lambda run: self._runs[run].began)

    def title(self, run: str) -> str:
        """Returns the name of a run in a sentence: the logdir's for the run ".", if it is free."""
        with self._lock:
            own = folder_name(self.logdir) if run == "." else ""
            return own if own and own not in self._runs else run

    def tags(self, run: str, kind: str = "scalars") -> list[str]:
        """Returns the tags of a run's scalars, or of one of the `KINDS`, in order of appearance."""
        with self._lock:
            return list(self._runs[run].of(kind))

    def count(self, run: str, tag: str, kind: str = "scalars") -> int:
        """Returns the number of points, or of values of another kind, of a tag in a run."""
        with self._lock:
            found = self._runs[run].of(kind).get(tag) if run in self._runs else None
            return found.count if found else 0

    def directions(self, run: str) -> Directions:
        """Returns which values of a run's scalars are better, as far as that is known."""
        with self._lock:
            return self._runs[run].directions if run in self._runs else Directions()

    def labels(self, run: str) -> tuple[str, ...]:
        """Returns the words by which a run can be found, which nbtrain calls tags."""
        with self._lock:
            return self._runs[run].labels if run in self._runs else ()

    def about(self, run: str) -> About | None:
        """Returns the config, tags, notes and duration of a run; None for one without a journal."""
        with self._lock:
            found = self._runs.get(run)
        return found.about() if found else None  # without the lock: it may read a long journal

    def has_lost_files(self) -> bool:
        """Returns whether a file that was read no longer exists."""
        with self._lock:
            there = {run: set(names) for run, _, names in self._folders.scan()}
            return any(run.files - there.get(name, set()) for name, run in self._runs.items())

    def progress(self) -> float:
        """Returns the fraction that was read of what the last scan found: from 0 to 1."""
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
        """Returns the number of bytes that could not be read, for each run with damaged files."""
        with self._lock:
            return {name: run.skipped for name, run in sorted(self._runs.items()) if run.skipped}

    def doubtful(self) -> dict[str, int]:
        """Returns the number of records read in spite of wrong checksums, for each run with any."""
        with self._lock:
            return {name: run.doubtful for name, run in sorted(self._runs.items()) if run.doubtful}

    def unreadable(self) -> dict[str, str]:
        """Returns folders and files that could not be read at the last attempt, and why."""
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
                    self._runs[run] = EventRun(folder, self._decoder, within=run != ".")
                self._runs[run].scan(names)
                there.add(run)
            gone = sorted(self._runs.keys() - there)
            self.version += gone != self.gone
            self.gone = gone

    def read(self, secs: float = math.inf) -> bool:
        """Reads what the last scan has found, alternating between the runs.

        Args:
            secs: Seconds after which this call ends; the next call reads the rest.

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
                time.sleep(TURN_SECS)
            with self._lock:
                if next(readers[0], self) is not self:
                    any_read = True
                    self.version += 1
                    readers.rotate(-1)
                else:
                    readers.popleft()
        return any_read
