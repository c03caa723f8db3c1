"""What was done to a run: lines of its `steering.jsonl`, and marks on its curves.

{"wall_time": 1790000000.0, "event": "set", "step": 120, "applied": true,
 "text": "learning_rate 0.01 → 0.001", "edits": {"learning_rate": [0.01, 0.001]}}
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from nbtrain.rundir.entries import FILE, Entry, edits_of, entries, when
from nbtrain.rundir.folder import Logdir
from nbtrain.rundir.timeline import RunTimeline

# How a run ends.
ENDS = frozenset({"finished", "stopped", "failed"})

# What of it is no mark: a run's own beginning and end, where its curves go on, what has a curve.
_UNMARKED = frozenset(
    {"start", "stop", "finished", "stopped"}
    | {"origin", "back", "segment", "found", "copy", "evaluated", "folder"}
    | {"unsaved", "saved"}  # the process ends
    | {"lacking"}  # what is trained and not saved
)

# Everything that there is an entry of.
EVENTS = (
    *("start", "pause", "resume", "stop", "save", "checkpoint", "restore", "set", "try", "replay"),
    *("evaluate", "evaluated", "nan", "recovery", "folder", "finished", "stopped", "failed"),
    *("undone", "origin", "back", "segment", "found", "copy", "lacking", "unsaved", "saved"),
)

# Marks that a run holds, the newest.
MOST_MARKS = 1000

# Lines that are named of those that cannot be read.
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that was done to a run, or befell it.

    Attributes:
        event: What, in a word: "save", "checkpoint" (by cadence), "restore", "set", "pause",
            "resume", "failed", and so on.
        step: Steps that had been completed.
        wall_time: When, in seconds since the epoch.
        text: In words.
        to: The step that the run went to; None where it stayed.
        edits: Hyperparameters that were changed: name to old and new value.
        kept: Of the end of a trial: whether what it tried stays; else None.
        good: Of a "nan": the step of the last good checkpoint; None where there is none.
        order: Its place in the timeline of the run.
        abandoned: Whether the run had gone back behind it when it was asked for.
    """

    event: str
    step: int
    wall_time: float
    text: str = ""
    to: int | None = None
    edits: tuple[tuple[str, float, float], ...] = ()
    kept: bool | None = None
    good: int | None = None
    order: float = field(default=0.0, compare=False, repr=False)
    abandoned: bool = field(default=False, compare=False, repr=False)

    @property
    def place(self) -> int:
        """The step at which it stands: where the run went on."""
        return self.step if self.to is None else self.to

    def __str__(self) -> str:
        """Where, what, and its text: `step 300  set  learning_rate 0.001 → 0.01`."""
        place = f"step {self.step:,}" + ("" if self.to is None else f" → {self.to:,}")
        return "  ".join(filter(None, (place, self.event, self.text)))

    @classmethod
    def of(cls, entry: Entry, order: float = 0.0) -> Mark | None:
        """The mark of an entry at its place; None for what was refused, or is no mark."""
        return None if entry["event"] in _UNMARKED else cls.done(entry, order)

    @classmethod
    def done(cls, entry: Entry, order: float = 0.0) -> Mark | None:
        """What an entry says was done, be it a mark or not; None for what was refused."""
        event = str(entry["event"])
        if not entry.get("applied", True):
            return None
        # Half of a character, as in the name of a file, is nothing that a page can show.
        text = str(entry.get("text", "")).encode(errors="replace").decode()
        edits = tuple(edits_of(entry))
        to, good = (at if type(at := entry.get(key)) is int else None for key in ("to", "good"))
        kept = was if type(was := entry.get("kept")) is bool else None
        return cls(event, entry["step"], when(entry), text, to, edits, kept, good, order)


class Marks:
    """The marks of a run, over all its lives; any thread.

    Attributes:
        timeline: The run's; what is known of it where its folder has not been read.
    """

    def __init__(self) -> None:
        self.timeline = RunTimeline(Path())
        self._marks: deque[Mark] = deque(maxlen=MOST_MARKS)
        self._lock = threading.Lock()
        self._count = 0  # of all there ever were

    def add(self, mark: Mark) -> None:
        """One more."""
        with self._lock:
            self._marks.append(mark)
            self._count += 1

    def since(self, number: int = 0) -> tuple[list[Mark], int]:
        """Those that came after the first `number`, as far as they are held; and their count."""
        with self._lock:
            new = max(0, self._count - number)
            marks, count = list(self._marks)[max(0, len(self._marks) - new) :], self._count
        counts = self.timeline.counts
        return [replace(m, abandoned=not counts(m.place, m.order)) for m in marks], count

    def __iter__(self) -> Iterator[Mark]:
        """Those that are held, the oldest first."""
        return iter(self.since()[0])

    def __len__(self) -> int:
        """How many are held."""
        return len(self._marks)

    def __repr__(self) -> str:
        """A line each, the newest last."""
        return "\n".join(map(str, self)) or "no marks yet"


class Journal:
    """Entries on their way to the file.

    Args:
        logdir: Where they are written.
        marks: Where those go that are to be seen.

    Attributes:
        folder: The run's.
        untold: How many were done that nobody was told of: too many waited.
    """

    def __init__(self, logdir: Logdir, marks: Marks) -> None:
        self.folder = logdir.path
        self._logdir = logdir
        self._marks = marks
        self._waiting: deque[dict[str, object]] = deque()
        self._writing = threading.Lock()  # one at a time: each line once, and in order
        self._done: deque[Mark] = deque(maxlen=MOST_MARKS)
        self.untold = 0

    @property
    def timeline(self) -> RunTimeline:
        """The run's, over all its lives; the training thread adds to it."""
        return self._marks.timeline

    def begin_timeline(self, lines: Iterable[Entry]) -> None:
        """Follow the lines of the file, where nothing is known yet."""
        if not self.timeline.order:
            self._marks.timeline = RunTimeline(self.folder, lines)

    def log(self, **entry: object) -> float:
        """Queues a line, and returns its order in the timeline.

        Any thread may call it; the training thread alone for a line of the timeline's. The path
        of a `checkpoint` is written relative to the run's folder.
        """
        line = {"wall_time": round(time.time(), 3), **entry}
        if "checkpoint" in entry:
            line["checkpoint"] = os.path.relpath(str(entry["checkpoint"]), self._logdir.path)
        self._waiting.append(line)
        order = self.timeline.follow(line)
        if (mark := Mark.of(line, order)) is not None:
            self._marks.add(mark)
        if (done := Mark.done(line, order)) is not None:
            self.untold += len(self._done) == MOST_MARKS
            self._done.append(done)
        return order

    def recall(self) -> None:
        """Take over the marks that the file tells of, where there are none yet."""
        if not len(self._marks):
            timeline = RunTimeline(self.folder)
            with contextlib.suppress(OSError):
                for entry in entries(self.folder):
                    if (mark := Mark.of(entry, timeline.follow(entry))) is not None:
                        self._marks.add(mark)

    def read(self) -> tuple[list[Entry], str | None]:
        """The entries of the file, none where there is none; and which lines are left out."""
        unread: list[int] = []
        found: list[Entry] = []
        with contextlib.suppress(OSError):
            found.extend(entries(self._logdir.path, unread))
        if not unread:
            return found, None
        lines = "Line" if len(unread) == 1 else "Lines"
        named = ", ".join(f"{number:,}" for number in unread[:_MOST_NAMED])
        more = f" and {len(unread) - _MOST_NAMED:,} more" if len(unread) > _MOST_NAMED else ""
        return found, (
            f"{lines} {named}{more} of {self._logdir.path / FILE} cannot be read and "
            f"{'is' if len(unread) == 1 else 'are'} left out."
        )

    def done(self, *, ended: bool) -> Iterator[Mark]:
        """What was done since it was asked last; one thread.

        Args:
            ended: Whether the run has ended: its end is told when it has.
        """
        while self._done and (ended or self._done[0].event not in ENDS):
            yield self._done.popleft()

    def clear(self) -> None:
        """Forget what waits: there is no file to write it to."""
        with self._writing:
            self._waiting.clear()

    def write(self) -> None:
        """Write what waits, once the folder is in place; any thread.

        A line that is written outlives a kill of the process. It is not forced to the disk
        (`fsync`), so that a power cut may take the last lines.

        Raises:
            OSError: It cannot be written; it waits for the next time.
        """
        if not self._waiting or not self._logdir.lock.in_place:
            return  # until the folder is back, or was made again
        with self._writing:
            while self._waiting:
                self._logdir.log(**self._waiting[0])
                self._waiting.popleft()
