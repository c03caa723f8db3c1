"""The colours of runs on boards and in pictures: each run keeps its own, whatever is shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from nbtrain.logdir.selection import Selection
from nbtrain.panel.validations import fits_of

# Those of the page on white (--tags in common.css), each with 3:1 or more on the ground.
COLOURS = (
    *("#1a6fb0", "#c75300", "#187a4c", "#7d4bb3", "#8a6100", "#b3144f"),
    *("#00808f", "#d0309f", "#5f6f00", "#6d4126", "#52616b", "#e0483c"),
)


def looks_in(scalars: Selection[Any]) -> dict[str, int]:
    """Numbers the looks of the chosen runs, also of those that have not been read yet."""
    reader = scalars.reader
    return looks_of(filter(scalars.chooses, reader.runs), reader.by_age)


def looks_of(runs: Iterable[str], by_age: Sequence[str]) -> dict[str, int]:
    """Numbers the looks of runs: first the colours, then the colours with each kind of dash.

    A colour follows from the age of a fit among all of the logdir, so neither the choice of runs
    nor a new one changes it. Runs that are shown and have the same colour differ by their dashes.

    Args:
        runs: The runs that are shown.
        by_age: All runs of the logdir, the oldest first.

    Returns:
        The numbers by run: both runs of a fit have the same.
    """
    runs = list(runs)
    ages = {run: age for age, fit in enumerate(fits_of([*by_age, *runs]).values()) for run in fit}
    found: dict[str, int] = {}
    taken: Counter[int] = Counter()
    for fit in sorted(fits_of(runs).values(), key=lambda fit: ages[fit[0]]):
        colour = ages[fit[0]] % len(COLOURS)
        found |= dict.fromkeys(fit, colour + len(COLOURS) * taken[colour])
        taken[colour] += 1
    return found
