"""Follows a run's journal as it grows, into the marks of an attached run."""

from __future__ import annotations

from pathlib import Path

from nbtrain.core import own_files
from nbtrain.core.own_files import LONGEST_LINE
from nbtrain.rundir.entries import FILE, MOST_BYTES, entry_of, tags_of
from nbtrain.rundir.journal import Mark, Marks
from nbtrain.rundir.timeline import RunTimeline

# Bytes that are read at once.
_CHUNK = 1 << 20

# Bytes of the first line that identify a journal: it begins with the time of the first start.
_HEAD = 64


class JournalTail:
    """The journal of one folder; for one thread.

    Args:
        folder: The run's folder.
        marks: The marks, which get a timeline of their own here.
    """

    def __init__(self, folder: Path, marks: Marks) -> None:
        self._folder, self._marks = folder, marks
        self._state = (0, 0, 0)  # inode, size and time of the last change
        self._offset = 0
        self._head = b""
        self._rest = b""  # an incomplete last line
        marks.timeline = RunTimeline(folder)

    def poll(self) -> bool:
        """Reads what is new; returns whether the file was replaced, so that another run wrote it.

        A missing file is no error: it may be written later, or its share may be away.

        Raises:
            OSError: It cannot be read.
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
        """Returns whether what was read is not the beginning of the file any more."""
        known, self._head = self._head, head
        return size < self._offset or not head.startswith(known)

    def _begin_again(self) -> None:
        self._offset, self._rest = 0, b""
        self._marks.forget()
        self._marks.timeline = RunTimeline(self._folder)

    def _take(self, chunk: bytes) -> None:
        *lines, rest = (self._rest + chunk).split(b"\n")
        self._rest = rest[: LONGEST_LINE + 1]  # cut, it is no entry
        for line in lines:
            entry = entry_of(line.decode("utf-8", "replace"))
            if entry is not None:
                self._marks.tags = tags_of(entry, self._marks.tags)
                mark = Mark.of(entry, self._marks.timeline.follow(entry))
                is_known = mark is not None and mark.event == "note" and mark in self._marks
                if mark is not None and not is_known:  # one that was written here is known
                    self._marks.add(mark)
