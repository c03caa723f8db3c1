"""Ranks the runs below a folder by the best value of a metric, the best run first."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from nbtrain.core.errors import ArgumentError
from nbtrain.core.values.direction import Direction, Directions, common, parted
from nbtrain.core.values.side_tags import metrics
from nbtrain.logdir.comparison import Comparison, compare
from nbtrain.logdir.summary_stats import Extent

# Metrics that an error names.
_MOST_NAMED = 12


@dataclass(frozen=True, slots=True)
class Ranking:
    """The best and the last value of a metric in each run that has recorded it.

    Attributes:
        heading: The headings of their columns.
        cells: The values of each run in words, by the name of its folder, the best run first.
    """

    heading: tuple[str, str]
    cells: dict[str, tuple[str, str]]


def ranking(folder: Path, by: str) -> Ranking:
    """Reads the values of a metric.

    Args:
        by: Its tag, which may lack the `epoch_` of a fit; "max:" or "min:" before it overrides what
            is known about its direction.

    Raises:
        ArgumentError: No run has recorded it, or its direction is unknown.
    """
    found, (wanted, direction) = compare(folder), parted(by)
    tags = [each for each in (f"epoch_{wanted}", wanted) if each in found.metrics]
    if not tags:
        raise ArgumentError(f"--by {by}: no run has recorded {wanted!r}. {_recorded(found)}")
    tag = tags[-1]
    direction = direction or common(found.directions[each] for each in tags)
    direction = direction or Directions().asked("--by", tag)[1]
    extents = {run: extent for each in tags for run, extent in found.metrics[each].items()}
    order = sorted(extents, key=lambda run: _place(extents[run], direction))
    cells = {run: (_best(extents[run], direction), f"{extents[run].last:.6g}") for run in order}
    return Ranking((f"{direction.end} {tag}", "last"), cells)


def _place(extent: Extent, direction: Direction) -> float:
    """Returns a number that is lower for a better run; a run without a finite value is last."""
    best = -extent.max if direction is Direction.HIGHEST else extent.min
    return math.inf if math.isnan(best) else best


def _best(extent: Extent, direction: Direction) -> str:
    best = extent.max if direction is Direction.HIGHEST else extent.min
    step = extent.best_step(direction)
    return "none" if math.isnan(best) else f"{best:.6g} at {step:,.0f}"


def _recorded(found: Comparison) -> str:
    names = list(metrics(found.metrics))
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    listed = f"There are {', '.join(names[:_MOST_NAMED])}{more}."
    return listed if names else "There is no metric at all."
