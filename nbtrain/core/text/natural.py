"""Sorts names by the numbers in them: `layer-2` before `layer-10`, `lr=1e-4` before `lr=0.01`."""

from __future__ import annotations

import functools
import re

# Without signs: `-` separates the words of a name.
_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)")


@functools.lru_cache(maxsize=1 << 14)  # the runs of a large logdir are sorted again and again
def natural(name: str) -> tuple[tuple[str | float, ...], str]:
    """Returns the key of a name for `sorted`: its texts and numbers in turn, and the name."""
    parts = _NUMBER.split(name)
    return tuple(float(part) if i % 2 else part for i, part in enumerate(parts)), name
