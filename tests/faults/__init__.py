"""Faults: what holds under load, kills, full disks and hostile input.

Each test draws what goes wrong from a seed, which a failure shows. A short version is part of
`make test`; `make soak` draws on for NBTRAIN_SOAK_SECS seconds in each test.
"""

from __future__ import annotations

import itertools
import os
import random
import time
from collections.abc import Iterator

SOAK_SECS = float(os.environ.get("NBTRAIN_SOAK_SECS", "0"))


def rounds(few: int) -> Iterator[random.Random]:
    """Draws of one seed after the other: a few, or those that a soak has time for."""
    end = time.monotonic() + SOAK_SECS
    for seed in itertools.count():
        if seed >= few and time.monotonic() >= end:
            return
        print(f"seed {seed}")
        yield random.Random(seed)
