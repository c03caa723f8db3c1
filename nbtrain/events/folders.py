"""The runs of a logdir: the folders that hold event files, and these files."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from nbtrain.errors import ArgumentError
from nbtrain.events.tail import is_remote

_FILE = ".tfevents."
# Seconds for which the time of a folder's change may not tell of a later one.
_COARSE_SECS = 2.0


class Folders:
    """The folders below a logdir; one thread at a time may call.

    Args:
        logdir: Their root.

    Raises:
        ArgumentError: It is no folder that can be read.
    """

    def __init__(self, logdir: str) -> None:
        self._root = logdir
        self._seen: dict[str, _Folder] = {}
        self.unreadable: dict[str, str] = {}  # folders, and why
        if not is_remote(logdir):
            _check(logdir)

    def look(self) -> Iterator[tuple[str, list[str]]]:
        """The name of each run, and its event files in the order of their names."""
        if is_remote(self._root):
            yield from _walk_remote(self._root)
            return
        self.unreadable.clear()
        yield from self._walk(self._root, ".", frozenset())

    def _walk(
        self, path: str, run: str, above: frozenset[tuple[int, int]]
    ) -> Iterator[tuple[str, list[str]]]:
        try:
            found = os.stat(path)
            number = (found.st_dev, found.st_ino)
            if number in above:  # a link to a folder above it
                return
            folder = self._seen.get(path)
            if folder is None or not folder.is_as_it_was(found.st_mtime):
                folder = self._seen[path] = _Folder(path, found.st_mtime)
        except OSError as error:
            self._seen.pop(path, None)
            if not isinstance(error, FileNotFoundError):
                self.unreadable[path] = error.strerror or str(error)
            return
        if folder.files:
            yield run, folder.files
        for name in folder.folders:
            below = name if run == "." else f"{run}/{name}"
            yield from self._walk(os.path.join(path, name), below, above | {number})


class _Folder:
    """What a folder held when it was last changed."""

    def __init__(self, path: str, changed: float) -> None:
        self._changed = changed
        self._read = time.time()
        self.files: list[str] = []
        self.folders: list[str] = []
        with os.scandir(path) as entries:
            for entry in entries:
                if _FILE in entry.name:
                    self.files.append(entry.name)
                elif entry.is_dir():
                    self.folders.append(entry.name)
        self.files.sort()
        self.folders.sort()

    def is_as_it_was(self, changed: float) -> bool:
        return changed == self._changed and changed < self._read - _COARSE_SECS


def _check(logdir: str) -> None:
    """Raise an error where a folder cannot be read."""
    try:
        with os.scandir(logdir):
            return
    except FileNotFoundError:
        problem = "there is no such folder"
    except NotADirectoryError:
        problem = "it is a file: give the folder that holds it"
    except OSError as error:
        problem = error.strerror or str(error)
    raise ArgumentError(f"logdir={logdir!r} cannot be read: {problem}.")


def _walk_remote(root: str) -> Iterator[tuple[str, list[str]]]:
    import tensorflow as tf

    for path, _, names in tf.io.gfile.walk(root):
        files = sorted(name for name in names if _FILE in name)
        if files:
            yield path.removeprefix(root).strip("/") or ".", files
