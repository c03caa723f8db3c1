"""Finds the runs of a logdir: the folders with event files, and the files in them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from nbtrain.core.errors import ArgumentError
from nbtrain.rundir.names import MAILBOX
from nbtrain.rundir.status_file import FILE as STATUS
from nbtrain.tfevents.names import PART
from nbtrain.tfevents.tail import is_remote, remotely

# Seconds within which a later change may leave a folder's modification time the same.
_COARSE_SECS = 2.0


class Folders:
    """The folders below a logdir; for one thread at a time.

    Raises:
        ArgumentError: The logdir is not a readable folder.
    """

    def __init__(self, logdir: str) -> None:
        self._root = logdir
        self._seen: dict[str, _Folder] = {}
        self.unreadable: dict[str, str] = {}  # folders, and why
        _check(logdir)

    def scan(self) -> Iterator[tuple[str, str, list[str]]]:
        """Yields the name of each run, its folder, and its event files sorted by name."""
        if is_remote(self._root):
            yield from _walk_remote(self._root)
            return
        self.unreadable.clear()
        root = Path(self._root).resolve()
        yield from self._walk(self._root, ".", tuple(map(str, (*root.parents, root))))

    def _walk(
        self, path: str, run: str, above: tuple[str, ...]
    ) -> Iterator[tuple[str, str, list[str]]]:
        """Scans one folder and those below.

        Args:
            above: The real paths of the folders that contain it, and its own as the last.
        """
        folder = self._seen.get(path)
        try:
            changed = os.stat(path).st_mtime  # noqa: PTH116 - twice as quick, for hundreds
            if folder is None or not folder.is_as_it_was(changed):
                folder = self._seen[path] = _Folder(path, run, changed)
        except OSError as error:
            self._seen.pop(path, None)
            if not isinstance(error, FileNotFoundError):
                self.unreadable[path] = error.strerror or str(error)
            return
        if folder.files:
            yield run, path, folder.files
        for below, name, is_link in folder.folders:
            own = os.path.join(above[-1], os.path.basename(below))  # noqa: PTH118, PTH119 - quicker
            real = os.path.realpath(below) if is_link else own
            if real not in above:  # a link to a folder above leads here again
                parents = map(str, Path(real).parents) if is_link else ()
                yield from self._walk(below, name, (*above, *parents, real))


class _Folder:
    """The contents of a folder at its last change: event files, and subfolders as runs."""

    def __init__(self, path: str, run: str, changed: float) -> None:
        self._changed, self._read = changed, time.time()
        self.files: list[str] = []
        self.folders: list[tuple[str, str, bool]] = []  # path, run, whether it is a link
        with os.scandir(path) as scanned:
            entries = sorted(scanned, key=lambda entry: entry.name)
        skipped = MAILBOX if any(entry.name == STATUS for entry in entries) else None
        for entry in entries:
            if not _is_folder(entry):
                if PART in entry.name:
                    self.files.append(entry.name)
            elif entry.name != skipped:
                name = as_text(entry.name)
                below = name if run == "." else f"{run}/{name}"
                self.folders.append((entry.path, below, entry.is_symlink()))

    def is_as_it_was(self, changed: float) -> bool:
        return changed == self._changed and changed < self._read - _COARSE_SECS


def path_of(logdir: object) -> str:
    """Returns a given path as text.

    Raises:
        ArgumentError: The argument is not a path.
    """
    if isinstance(logdir, (str, os.PathLike)):
        path = os.fspath(logdir)
        if isinstance(path, str):
            return path
    raise ArgumentError(f"logdir={logdir!r}: give the path of a folder, such as 'runs'.")


def as_text(path: str) -> str:
    r"""Converts a path to text; invalid bytes become escapes like `\xff`."""
    return path.encode(errors="surrogateescape").decode(errors="backslashreplace")


def folder_name(logdir: str) -> str:
    """Returns the last part of a logdir's path; "" for the root."""
    path = logdir if is_remote(logdir) else os.path.abspath(logdir)  # noqa: PTH100 - links stay
    return as_text(path.rstrip("/").rpartition("/")[2])


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Returns whether an entry is a folder or a link to one; False for a link to itself."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _check(logdir: str) -> None:
    """Raises an ArgumentError if a folder cannot be read."""
    try:
        if not is_remote(logdir):
            with os.scandir(logdir):
                return
        import tensorflow as tf

        with remotely():
            if tf.io.gfile.stat(logdir).is_directory:
                return
        problem = "it is a file: give the folder that holds it"
    except FileNotFoundError:
        problem = "there is no such folder"
    except NotADirectoryError:
        problem = "it is a file: give the folder that holds it"
    except OSError as error:
        problem = error.strerror or str(error)
    except ValueError as error:  # not a path: it contains a null character
        problem = str(error)
    raise ArgumentError(f"logdir={logdir!r} cannot be read: {problem}.")


def _walk_remote(root: str) -> Iterator[tuple[str, str, list[str]]]:
    import tensorflow as tf

    with remotely():
        found = list(tf.io.gfile.walk(root))
    for path, _, names in found:
        files = sorted(name for name in names if PART in name)
        if files:
            yield path.removeprefix(root).strip("/") or ".", path, files
