"""The failure of a run whose loop an error has left, as far as Python tells it."""

from __future__ import annotations

import re
import sys

# Before Python 3.12 nothing refers to an error while it leaves a loop.
IS_KNOWN = sys.version_info >= (3, 12)


def failure(words: str) -> re.Pattern[str]:
    """Returns what the failure of a run matches; `words` are those of the error if it is known."""
    unknown = r"UnknownError: An error left the loop in line \d+.*"
    return re.compile(re.escape(words) if IS_KNOWN else unknown)
