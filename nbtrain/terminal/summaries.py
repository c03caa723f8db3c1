"""Summarizes curves in few numbers, for readers of short texts: an agent, or a log.

summary(run.scalars["loss"], points=3)
# {"count": 5000, "abandoned": 120, "not_finite": 0, "first": [1, 2.3], "last": [5000, 0.02],
#  "min": [4810, 0.01], "max": [3, 2.9], "points": [[1, 2.3], [2500, 0.4], [5000, 0.02]]}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nbtrain.recording.store import Columns, ScalarStore

# Tags that are summarized if none are named.
MOST_TAGS = 50


def summaries(
    store: ScalarStore, tags: Sequence[str], *, points: int, from_step: int
) -> dict[str, Any]:
    """Summarizes the curves of a run.

    Args:
        tags: The tags; if empty, the first `MOST_TAGS` of the run.
        points: The most points of each curve in the summary.
        from_step: The step at which the summary begins.

    Returns:
        The summaries by tag in `curves`, and the tags that were left out in `more_tags`.

    Raises:
        UnknownTagError: A tag was never recorded.
    """
    wanted = list(dict.fromkeys(tags)) or list(store)[:MOST_TAGS]
    curves = {tag: summary(store[tag], points, from_step) for tag in wanted}
    return {"curves": curves, "more_tags": [] if tags else list(store)[MOST_TAGS:]}


def summary(columns: Columns, points: int, from_step: int = 0) -> dict[str, Any]:
    """Summarizes a curve; each point in the summary is a pair of step and value.

    Abandoned points are only counted.
    """
    within = columns.steps >= from_step
    counted = within & ~columns.abandoned
    steps, values = columns.steps[counted], columns.values[counted]
    finite = np.flatnonzero(np.isfinite(values))

    def pair(at: int) -> list[float]:
        return [int(steps[at]), float(values[at])]

    result: dict[str, Any] = {
        "count": len(values),
        "abandoned": int(np.count_nonzero(within & columns.abandoned)),
        "not_finite": len(values) - len(finite),
    }
    if len(finite):
        lowest, highest = (finite[find(values[finite])] for find in (np.argmin, np.argmax))
        result |= {"min": pair(lowest), "max": pair(highest)}
    if len(values):
        chosen = np.unique(np.linspace(0, len(values) - 1, points).round().astype(int))
        result |= {"first": pair(0), "last": pair(-1), "points": [pair(at) for at in chosen]}
    return result
