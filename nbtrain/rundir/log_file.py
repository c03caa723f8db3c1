"""Reads the end of a file to which a process prints."""

from __future__ import annotations

import os
from pathlib import Path

from nbtrain.core import own_files

# Lines of a log that are shown at most, and the bytes that are read for them.
SHOWN_LINES = 20
_BYTES = 1 << 14


def descriptor_of(path: Path) -> int | None:
    """Returns the descriptor by which this process prints to the file; None if it does not."""
    for number in (1, 2):
        try:
            if os.path.samestat(os.fstat(number), path.stat()):
                return number
        except OSError:
            continue
    return None


def last_lines(path: Path) -> list[str] | None:
    """Returns lines from the end of a log, more than are shown; None if it cannot be read."""
    try:
        with own_files.opened(path) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _BYTES))
            text = (file.read(_BYTES) or b"").decode(errors="replace")
    except OSError:
        return None
    return text.rstrip().splitlines()
