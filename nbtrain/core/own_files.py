"""Opens the files of a run's folder, into which other people may write.

Only regular files of the folder itself are opened. A link may lead to any file of the user, a
device may have no end, and a named pipe may never answer.

with opened(folder / "log.txt") as file:
    for line in lines(file):        # each at most a megabyte
        ...
"""

from __future__ import annotations

import errno
import math
import os
import stat
from collections.abc import Iterator
from io import FileIO
from pathlib import Path

LINK = "it is a symbolic link, and links are not followed"
NO_FILE = "it is not a file"

# Bytes of the longest line that is read: a replay of a thousand edits has 60 kB.
LONGEST_LINE = 1 << 20

# Flags to append to a file, which is created if it does not exist; and to also read its end.
APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT
APPEND_AND_READ = os.O_RDWR | os.O_APPEND | os.O_CREAT

# Flags that Windows does not have. With `_NO_WAIT`, opening a named pipe does not block.
_NO_FOLLOW, _NO_WAIT = getattr(os, "O_NOFOLLOW", 0), getattr(os, "O_NONBLOCK", 0)
_BINARY = getattr(os, "O_BINARY", 0)


class NotOwnError(OSError):
    """A file that is not opened because of its kind; `strerror` says why."""


_MODES = {os.O_RDONLY: "rb", APPEND: "ab", APPEND_AND_READ: "ab+"}


def opened(path: str | Path, flags: int = os.O_RDONLY) -> FileIO:
    """Opens a regular file, without a buffer.

    Args:
        flags: `os.O_RDONLY`, `APPEND` or `APPEND_AND_READ`.

    Raises:
        NotOwnError: The path is a symbolic link, or not a regular file.
        OSError: The file does not exist, or cannot be opened.
    """
    return FileIO(descriptor(path, flags), _MODES[flags])


def descriptor(path: str | Path, flags: int = os.O_RDONLY) -> int:
    """Opens a regular file, and returns its descriptor; see `opened`."""
    if not _NO_FOLLOW and Path(path).is_symlink():
        raise _refusal(errno.ELOOP, LINK, path)
    try:
        number = os.open(path, flags | _NO_FOLLOW | _NO_WAIT | _BINARY, 0o666)
    except OSError as error:
        if Path(path).is_symlink():
            raise _refusal(errno.ELOOP, LINK, path) from None
        if error.errno in (errno.ENXIO, errno.EOPNOTSUPP):  # a pipe without a reader, a socket
            raise _refusal(errno.EINVAL, NO_FILE, path) from None
        raise
    try:
        check(os.fstat(number), path)
    except OSError:
        os.close(number)
        raise
    return number


def state(path: str | Path) -> os.stat_result:
    """Returns the state of a regular file.

    Raises:
        NotOwnError: The path is a symbolic link, or not a regular file.
        OSError: The file does not exist.
    """
    found = os.lstat(path)  # three times as quick as a Path, for hundreds of files
    check(found, path)
    return found


def check(found: os.stat_result, path: str | Path) -> None:
    """Raises a NotOwnError unless this is the state of a regular file."""
    if stat.S_ISLNK(found.st_mode):
        raise _refusal(errno.ELOOP, LINK, path)
    if stat.S_ISDIR(found.st_mode):
        raise _refusal(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(found.st_mode):
        raise _refusal(errno.EINVAL, NO_FILE, path)


def check_folder(*folders: Path) -> None:
    """Raises a NotOwnError if a folder within a run's folder is a symbolic link."""
    for folder in folders:
        if folder.is_symlink():
            raise _refusal(errno.ELOOP, LINK, folder)


def lines(file: FileIO, most_bytes: int | None = None) -> Iterator[bytes]:
    r"""Yields the lines of a file with their `\n`, which the last one may lack.

    A line that is longer than `LONGEST_LINE` is cut there.

    Args:
        most_bytes: Bytes to read at most; None reads to the end.
    """
    buffered = open(file.fileno(), "rb", closefd=False)  # noqa: SIM115 - `file` is closed
    left, begins = math.inf if most_bytes is None else most_bytes, True
    while left > 0 and (part := buffered.readline(int(min(left, LONGEST_LINE)))):
        if begins:
            yield part
        left -= len(part)
        begins = part.endswith(b"\n")


def _refusal(number: int, why: str, path: str | Path) -> NotOwnError:
    return NotOwnError(number, why, os.fspath(path))
