"""The names of event files."""

from __future__ import annotations

import math
import re

# TensorBoard recognizes an event file by this part of its name.
PART = "tfevents"

# The prefix of the files written here, as in TensorFlow.
PREFIX = f"events.out.{PART}."

# The ending of the files written here: a folder may have files of other writers, too.
ENDING = ".nbtrain"

_TIME = re.compile(rf"{PART}\.(\d+)")


def time_in(name: str) -> float:
    """Returns the time at which a file was begun, in seconds since the epoch; inf if unknown."""
    found = _TIME.search(name)
    return float(found[1]) if found else math.inf
