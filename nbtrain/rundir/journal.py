"""Reads and writes the history of a run: its `steering.jsonl`, and the marks on its curves.

{"wall_time": 1790000000.0, "event": "set", "step": 120, "applied": true,
 "text": "learning_rate 0.01 → 0.001", "edits": {"learning_rate": [0.01, 0.001]}}
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from nbtrain.core import own_files
from nbtrain.core.own_files import LONGEST_LINE
from nbtrain.core.text.visible import visible
from nbtrain.core.values.arms import ArmResult
from nbtrain.core.values.config import Config
from nbtrain.rundir.answers import results_in
from nbtrain.rundir.entries import (
    ENDS,
    FILE,
    MOST_BYTES,
    UNMARKED,
    Entry,
    arm_of,
    config_of,
    edits_of,
    entries,
    entry_of,
    skipped,
    tags_of,
    when,
)
from nbtrain.rundir.folder import Logdir
from nbtrain.rundir.timeline import RunTimeline, side_folder

# The number of newest marks that a run keeps.
MOST_MARKS = 1000

# Bytes of the file that another process reads at once while it grows.
_CHUNK = 1 << 20

# Bytes of the first line that identify the file: it begins with the time of the first start.
_HEAD = 64


@dataclass(frozen=True, slots=True)
class Mark:
    """An event in the history of a run.

    Attributes:
        event: The event: "save", "checkpoint" (by cadence), "restore", "set", "pause", "resume",
            "failed", and so on.
        step: Completed steps at that time.
        wall_time: The time in seconds since the epoch.
        text: A description.
        to: The step to which the run went; None if it stayed.
        edits: Changed hyperparameters: name, old and new value.
        kept: For the end of a trial, whether its edits stay; otherwise None.
        good: For a "nan", the step of the last good checkpoint; None if there is none.
        why_nan: For a "nan", whether the run can look for its cause.
        arms: For the end of a trial of several values, the result of each.
        arm: For the beginning of one of these values, its turn, from 0, and its name.
        order: The place in the timeline of the run.
        abandoned: Whether the run has gone back to a step before the mark, at the time of asking.
    """

    event: str
    step: int
    wall_time: float
    text: str = ""
    to: int | None = None
    edits: tuple[tuple[str, float, float], ...] = ()
    kept: bool | None = None
    good: int | None = None
    why_nan: bool = False
    arms: tuple[ArmResult, ...] = field(default=(), compare=False, repr=False)
    arm: tuple[int, str] | None = None
    order: float = field(default=0.0, compare=False, repr=False)
    abandoned: bool = field(default=False, compare=False, repr=False)

    @property
    def place(self) -> int:
        """The step at which the mark is drawn: that from which the run continued."""
        return self.step if self.to is None else self.to

    def __str__(self) -> str:
        """Returns step, event and text: `step 300  set  learning_rate 0.001 → 0.01`."""
        place = f"step {self.step:,}" + ("" if self.to is None else f" → {self.to:,}")
        return "  ".join(filter(None, (place, self.event, self.text)))

    @classmethod
    def of(cls, entry: Entry, order: float = 0.0) -> Mark | None:
        """Returns the mark of an entry; None if the entry was refused or has no mark.

        A checkpoint that was found in the folder, unless it is a copy, has a mark as if it was
        saved by cadence.
        """
        if entry["event"] == "found" and not side_folder(path := str(entry.get("checkpoint", ""))):
            entry = {**entry, "event": "checkpoint", "text": Path(path).name}
        return None if entry["event"] in UNMARKED else cls.done(entry, order)

    @classmethod
    def done(cls, entry: Entry, order: float = 0.0) -> Mark | None:
        """Returns the event of an entry, even if it has no mark; None if it was refused."""
        event = str(entry["event"])
        if not entry.get("applied", True):
            return None
        # A page cannot show half a character, which the name of a file may contain.
        text = str(entry.get("text", "")).encode(errors="replace").decode()
        edits = tuple(edits_of(entry))
        to, good = (at if type(at := entry.get(key)) is int else None for key in ("to", "good"))
        kept = was if type(was := entry.get("kept")) is bool else None
        return cls(
            event,
            entry["step"],
            when(entry),
            text,
            to=to,
            edits=edits,
            kept=kept,
            good=good,
            why_nan=entry.get("why_nan") is True,
            arms=results_in(entry),
            arm=arm_of(entry),
            order=order,
        )


class Marks:
    """The marks of a run, from all its starts; any thread.

    Attributes:
        timeline: The timeline of the run; only the lines known so far if the folder was not read.
        has_timeline: Whether the folder was read into the timeline.
        recalled: Whether the marks of earlier starts were read. When this becomes true, the marks
            may get other numbers.
        tags: The words by which the run can be found again.
        config: The settings that the run is made with.
    """

    def __init__(self) -> None:
        self.timeline = RunTimeline(Path())
        self.has_timeline = self.recalled = False
        self.tags: tuple[str, ...] = ()
        self.config: Config = {}
        self._marks: deque[Mark] = deque(maxlen=MOST_MARKS)
        self._lock = threading.Lock()
        self._count = 0  # of all marks so far

    def label(self, lines: Iterable[Entry]) -> None:
        """Takes the tags and the config of some entries."""
        for entry in lines:
            self.tags = tags_of(entry, self.tags)
            self.config = config_of(entry, self.config)

    def add(self, mark: Mark) -> None:
        """Adds a mark."""
        with self._lock:
            self._marks.append(mark)
            self._count += 1

    def recall(self, marks: Sequence[Mark], before: int) -> None:
        """Replaces all marks; keeps those that were added meanwhile.

        Args:
            marks: The marks of all starts; if there are none, nothing is replaced.
            before: The number of all marks before they were read.
        """
        with self._lock:
            if marks:
                later = list(self._marks)[max(0, len(self._marks) - self._count + before) :]
                found = [*marks, *(mark for mark in later if mark not in marks)]
                self._marks, self._count = deque(found, maxlen=MOST_MARKS), len(found)
            self.recalled = True

    def forget(self) -> None:
        """Drops the stored marks, because another run has replaced the journal."""
        with self._lock:
            self._marks.clear()

    @property
    def count(self) -> int:
        """The number of all marks so far."""
        return self._count

    def since(self, number: int = 0) -> tuple[list[Mark], int]:
        """Returns the stored marks after the first `number`, and the number of all marks so far."""
        with self._lock:
            new = max(0, self._count - number)
            marks, count = list(self._marks)[max(0, len(self._marks) - new) :], self._count
        counts = self.timeline.counts
        return [replace(m, abandoned=not counts(m.place, m.order)) for m in marks], count

    def __iter__(self) -> Iterator[Mark]:
        """Iterates over the stored marks, the oldest first."""
        return iter(self.since()[0])

    def __len__(self) -> int:
        """The number of stored marks."""
        return len(self._marks)

    def __repr__(self) -> str:
        """Returns one line for each mark, the newest last."""
        return visible("\n".join(map(str, self))) or "no marks yet"


class Journal:
    """Queues entries, writes them to the file, and adds their marks.

    Attributes:
        untold: The number of events that were dropped before `done`, because too many waited.
    """

    def __init__(self, logdir: Logdir, marks: Marks) -> None:
        self.folder = logdir.path
        self._logdir = logdir
        self._marks = marks
        self._waiting: deque[dict[str, object]] = deque()
        self._writing = threading.Lock()  # protects the order of the lines; each is written once
        self._done: deque[Mark] = deque(maxlen=MOST_MARKS)
        self.untold = 0

    @property
    def waits(self) -> bool:
        """True if entries wait to be written."""
        return bool(self._waiting)

    @property
    def is_written(self) -> bool:
        """True if there is a file with lines, of this or an earlier start."""
        with contextlib.suppress(OSError):
            return own_files.state(self.folder / FILE).st_size > 0
        return False

    @property
    def timeline(self) -> RunTimeline:
        """The timeline of the run, with all its starts; the training thread adds to it."""
        return self._marks.timeline

    @property
    def has_timeline(self) -> bool:
        """True if the timeline has begun with the lines of the file."""
        return self._marks.has_timeline

    def begin_timeline(self, lines: Iterable[Entry]) -> None:
        """Begins the timeline with the lines of the file, once."""
        if not self._marks.has_timeline:
            self._marks.timeline = RunTimeline(self.folder, lines)
            self._marks.has_timeline = True

    def begin_labels(self) -> None:
        """Reads the tags and the config of earlier starts, once."""
        if self._marks.tags or self._marks.config:
            return
        with contextlib.suppress(OSError):
            self._marks.label(entries(self.folder))

    def log(self, **entry: object) -> float:
        """Queues a line, and returns its order in the timeline.

        Any thread may call it; for a line of the timeline only the training thread. The path of a
        `checkpoint` is written relative to the run's folder.
        """
        line = {"wall_time": round(time.time(), 3), **entry}
        if "checkpoint" in entry:
            line["checkpoint"] = os.path.relpath(str(entry["checkpoint"]), self._logdir.path)
        self._waiting.append(line)
        self._marks.label([line])
        order = self.timeline.add_entry(line)
        is_later = entry["event"] == "found" and not self._marks.recalled  # `recall` adds it
        if not is_later and (mark := Mark.of(line, order)) is not None:
            self._marks.add(mark)
        if (done := Mark.done(line, order)) is not None:
            self.untold += len(self._done) == MOST_MARKS
            self._done.append(done)
        return order

    def recall(self, *, goes_on: bool = True) -> None:
        """Reads the marks of all starts from the file and the waiting entries, once.

        Args:
            goes_on: Whether the run continues from a checkpoint; otherwise its marks are only those
                of this process.
        """
        if self._marks.recalled:
            return
        before, timeline, found = self._marks.count, RunTimeline(self.folder), []
        with self._writing, contextlib.suppress(OSError):
            for entry in [*entries(self.folder), *self._waiting] if goes_on else ():
                if (mark := Mark.of(entry, timeline.add_entry(entry))) is not None:
                    found.append(mark)
        self._marks.recall(found, before)

    def read(self) -> tuple[list[Entry], str | None]:
        """Returns the written and the waiting entries, and a message about skipped lines.

        Without a file, only the waiting entries are returned.
        """
        unread: list[int] = []
        found: list[Entry] = []
        with self._writing:
            with contextlib.suppress(OSError):
                found.extend(entries(self._logdir.path, unread))
            found.extend(self._waiting)
        if not unread:
            return found, None
        return found, skipped(self._logdir.path, unread)

    def done(self, *, ended: bool) -> Iterator[Mark]:
        """Yields the events since the last call; one thread.

        Args:
            ended: Whether the run has ended; its last event waits until then.
        """
        while self._done and (ended or self._done[0].event not in ENDS):
            yield self._done.popleft()

    def inherit(self, other: Journal) -> None:
        """Adds the waiting entries of an earlier start, which could not be written."""
        with other._writing:
            self._waiting.extend(other._waiting)
            other._waiting.clear()

    def clear(self) -> None:
        """Drops the waiting entries, because there is no file for them."""
        with self._writing:
            self._waiting.clear()

    def write(self) -> None:
        """Writes the waiting entries if the folder exists; any thread.

        Written lines survive a kill of the process. They are not forced to the disk (`fsync`), so
        a power cut may lose the last lines.

        Raises:
            OSError: The file cannot be written; the entries wait for the next call.
        """
        if not self._waiting or not self._logdir.lock.in_place:
            return  # a network folder may be unavailable for a moment
        with self._writing:
            while self._waiting:
                self._logdir.log(**self._waiting[0])
                self._waiting.popleft()


class JournalTail:
    """Reads the journal of a run of another process while it grows; for one thread.

    Args:
        folder: The run's folder.
        marks: The marks, which get a new timeline here.
    """

    def __init__(self, folder: Path, marks: Marks) -> None:
        self._folder, self._marks = folder, marks
        self._state = (0, 0, 0)  # inode, size and time of the last change
        self._offset = 0
        self._head = b""
        self._rest = b""  # an incomplete last line
        marks.timeline = RunTimeline(folder)

    def poll(self) -> bool:
        """Reads new lines; returns whether the file was replaced, so that another run wrote it.

        A missing file is not an error: it may be written later, or its share may be unavailable.

        Raises:
            OSError: The file cannot be read.
        """
        path = self._folder / FILE
        try:
            found = own_files.state(path)
            state = (found.st_ino, found.st_size, found.st_mtime_ns)
            if state == self._state:
                return False
            with own_files.opened(path) as file:
                replaced = self._is_another(file.read(_HEAD), found.st_size)
                if replaced:
                    self._begin_again()
                file.seek(self._offset)
                while self._offset < MOST_BYTES and (chunk := file.read(_CHUNK)):
                    self._offset += len(chunk)
                    self._take(chunk)
        except (FileNotFoundError, NotADirectoryError):
            return False
        self._state = state
        return replaced

    def _is_another(self, head: bytes, size: int) -> bool:
        """Returns whether the file no longer begins with what was read before."""
        known, self._head = self._head, head
        return size < self._offset or not head.startswith(known)

    def _begin_again(self) -> None:
        self._offset, self._rest = 0, b""
        self._marks.forget()
        self._marks.timeline = RunTimeline(self._folder)

    def _take(self, chunk: bytes) -> None:
        *lines, rest = (self._rest + chunk).split(b"\n")
        self._rest = rest[: LONGEST_LINE + 1]  # a line that is cut is not an entry
        for line in lines:
            entry = entry_of(line.decode("utf-8", "replace"))
            if entry is not None:
                self._marks.label([entry])
                mark = Mark.of(entry, self._marks.timeline.add_entry(entry))
                is_known = mark is not None and mark.event == "note" and mark in self._marks
                if mark is not None and not is_known:  # a note that was written here is known
                    self._marks.add(mark)
