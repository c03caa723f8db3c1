"""Replaces small JSON files as a whole, and reads those of other processes without trust."""

from __future__ import annotations

import contextlib
import json
import math
import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

from nbtrain.core import own_files
from nbtrain.core.own_files import NotOwnError

# The largest file that is read: a status with a hundred checkpoints has 20 kB, and one with 10,000
# scalars 400 kB.
MOST_BYTES = 1 << 24

# Characters of a name in the name of its temporary file; one may need four bytes of 255.
_NAMED = 50

Contents = TypeVar("Contents")

# A file that was replaced or written differs in one of these: its inode, size and time of change.
_State = tuple[int, int, int]


class Untrusted(ValueError):  # noqa: N818 - the reason is the message
    """A file that must not be trusted; the message says why."""


class Malformed(Untrusted):
    """A file that is not JSON: perhaps it is still being written."""


def replace(path: Path, fields: Mapping[str, Any], *, sync: bool = True) -> None:
    """Writes a JSON object, so that a reader sees the old file or all of the new one.

    Args:
        sync: Whether the contents must be on the disk before the file is replaced.

    Raises:
        OSError: The file cannot be written; the old one is unchanged.
    """
    new = temporary(path)
    try:
        with open(new, "x", encoding="utf-8") as file:
            json.dump(fields, file, default=str)
            file.write("\n")
            if sync:
                file.flush()
                os.fsync(file.fileno())
        os.replace(new, path)  # noqa: PTH105 - one call, and it raises OSError alone
    except BaseException as error:
        with contextlib.suppress(OSError):
            new.unlink()
        if isinstance(error, OSError):  # the name of the temporary file differs each time
            error.filename, error.filename2 = os.fspath(path), None
        raise


def temporary(path: Path) -> Path:
    """Returns a path beside a JSON file, for a file that replaces it.

    The path has only the beginning of the name, because the whole name may have the maximal length.
    """
    return path.with_name(f".{path.stem[:_NAMED]}.json-{secrets.token_hex(4)}")


def sweep(folder: Path, *, before: float = math.inf) -> None:
    """Deletes the temporary files that killed processes have left in a folder.

    Args:
        before: Only files that were last changed before this time, in seconds since the epoch.
    """
    for path in folder.glob(".*.json-????????"):
        with contextlib.suppress(OSError):
            if path.stat().st_mtime < before:
                path.unlink()


def read(
    path: str | Path, *, most_bytes: int = MOST_BYTES, owner: int | None = None
) -> dict[str, Any]:
    """Returns the JSON object in a file; a symbolic link is never followed.

    Args:
        most_bytes: The largest file to read.
        owner: The user that must own the file; None for any.

    Raises:
        OSError: The file does not exist, or cannot be read.
        Untrusted: The file is a link, not regular, another user's, too large, or not a JSON object.
        Malformed: The file is not JSON.
    """
    try:
        file = own_files.opened(path)
    except NotOwnError as error:
        raise Untrusted(error.strerror) from None
    with file:
        found = os.fstat(file.fileno())
        if owner is not None and found.st_uid != owner:
            raise Untrusted(f"it belongs to user {found.st_uid}, and the run to user {owner}")
        if found.st_size > most_bytes:
            raise Untrusted(f"it has {found.st_size:,} bytes, and {most_bytes:,} is the most")
        content = file.read(found.st_size)
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"it is not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise Untrusted('it is not a JSON object, such as {"command": "pause"}')
    return fields


class Polled(Generic[Contents]):
    """The files of one name in many folders; each is read again only once it has changed.

    signs = Polled(status_file.read, status_file.FILE)
    signs.of(folder)    # read
    signs.of(folder)    # takes a twentieth of the time, until the file changes

    Args:
        read: Reads the file of a folder.
        name: The name of the file.
    """

    def __init__(self, read: Callable[[Path], Contents], name: str) -> None:
        self._read, self._name = read, name
        self._held: dict[Path, tuple[str, _State, Contents]] = {}

    def of(self, folder: Path) -> Contents:
        """Returns the contents of the file in a folder.

        Raises:
            OSError: The file does not exist, or cannot be read.
            Exception: As in `read`.
        """
        known = self._held.get(folder)
        path = known[0] if known else f"{folder}/{self._name}"
        found = os.stat(path)  # noqa: PTH116 - three times as quick, for a thousand
        state = (found.st_ino, found.st_size, found.st_mtime_ns)
        if known is not None and known[1] == state:
            return known[2]
        contents = self._read(folder)
        self._held[folder] = (path, state, contents)
        return contents
