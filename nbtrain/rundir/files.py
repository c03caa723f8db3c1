"""Small JSON files that other processes read: replaced as a whole, and read without trust."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# The largest file that is read: a status with a hundred checkpoints has 20 kB, and one with 10,000
# scalars 400 kB.
MOST_BYTES = 1 << 24

# Not on Windows. A named pipe is not waited for.
_NO_FOLLOW, _NO_WAIT = getattr(os, "O_NOFOLLOW", 0), getattr(os, "O_NONBLOCK", 0)

_LINK = "it is a symbolic link, and links are not followed"


class Untrusted(ValueError):  # noqa: N818 - the reason is the message
    """A file that must not be believed; the message says why."""


class Malformed(Untrusted):
    """A file that is not JSON: perhaps it is still being written."""


def replace(path: Path, fields: Mapping[str, Any], *, sync: bool = True) -> None:
    """Writes a JSON object, so that a reader sees the old file or all of the new one.

    Args:
        sync: Whether the contents must be on the disk before the name is.

    Raises:
        OSError: It cannot be written; the old file is left as it was.
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
    except BaseException:
        with contextlib.suppress(OSError):
            new.unlink()
        raise


def temporary(path: Path) -> Path:
    """Returns a path beside a JSON file, for a file that takes its place."""
    return path.with_name(f".{path.name}-{secrets.token_hex(4)}")


def sweep(folder: Path, *, before: float = math.inf) -> None:
    """Deletes the temporary files in a folder that killed processes have left there.

    Args:
        before: Only those that were last changed before this time, in seconds since the epoch.
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
        OSError: It is not there, or cannot be read.
        Untrusted: It is a link, no file, of another user, too large, or not a JSON object.
        Malformed: It is not JSON.
    """
    if not _NO_FOLLOW and Path(path).is_symlink():
        raise Untrusted(_LINK)
    try:
        descriptor = os.open(path, os.O_RDONLY | _NO_FOLLOW | _NO_WAIT)
    except OSError as error:
        if error.errno == errno.ELOOP and Path(path).is_symlink():
            raise Untrusted(_LINK) from None
        raise
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise Untrusted("it is not a file")
        if owner is not None and found.st_uid != owner:
            raise Untrusted(f"it belongs to user {found.st_uid}, and the run to user {owner}")
        if found.st_size > most_bytes:
            raise Untrusted(f"it has {found.st_size:,} bytes, and {most_bytes:,} is the most")
        content = os.read(descriptor, found.st_size)
    finally:
        os.close(descriptor)
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"it is not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise Untrusted('it is not a JSON object, such as {"command": "pause"}')
    return fields
