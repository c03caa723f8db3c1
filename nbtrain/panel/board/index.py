"""Describes a logdir to a board's page: its runs, and the tags of each kind.

A page has a tab for each kind that is present, for the scalars, and for the tab opened first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nbtrain.core.errors import ArgumentError
from nbtrain.core.text.natural import natural
from nbtrain.core.values.arrays import IntArray
from nbtrain.logdir.graphs import Graphs
from nbtrain.logdir.history import History
from nbtrain.logdir.scalars import Scalars
from nbtrain.logdir.selection import Selection
from nbtrain.logdir.summaries import Summaries

# The kind of summary that each tab of a board shows.
KIND_OF = {
    "scalars": "scalars",
    "images": "images",
    "histograms": "histograms",
    "distributions": "histograms",
    "text": "text",
    "audio": "audio",
    "pr_curves": "pr_curves",
    "graphs": "graphs",
}

Selections = Mapping[str, Selection[Any]]


def selections(scalars: Scalars) -> Selections:
    """Returns the summaries of each kind in the runs and tags selected by `scalars`."""
    kinds = {*KIND_OF.values()} - {"scalars", "graphs"}
    others = {kind: Summaries(scalars.reader, kind).like(scalars) for kind in kinds}
    return {"scalars": scalars, **others, "graphs": Graphs(scalars.reader).like(scalars)}


def contents(found: Selections, lacking: Mapping[str, str], begin: str) -> dict[str, Any]:
    """Returns runs, tags by kind, and tabs.

    Args:
        found: The summaries of each kind.
        lacking: For each tab that is not in `KIND_OF`, why it has nothing to show; "" otherwise.
        begin: The tab that is open first.
    """
    keys = {kind: list(iter(pairs)) for kind, pairs in found.items()}  # len() would count them all
    runs = sorted({run for pairs in keys.values() for run, _ in pairs}, key=natural)
    numbers = {run: number for number, run in enumerate(runs)}
    kinds = {kind: _tags(pairs, numbers) for kind, pairs in keys.items()}
    tabs = [tab for tab, kind in KIND_OF.items() if keys[kind] or tab in ("scalars", begin)]
    empty = {tab: repr(found[KIND_OF[tab]]).strip("<>") for tab in tabs if not keys[KIND_OF[tab]]}
    empty |= {tab: words for tab, words in lacking.items() if words and tab == begin}
    tabs += [tab for tab, words in lacking.items() if not words or tab == begin]
    scalars = kinds.pop("scalars")
    return {"runs": runs, **scalars, "kinds": kinds, "tabs": tabs, "empty": empty}


def _tags(keys: list[tuple[str, str]], numbers: Mapping[str, int]) -> dict[str, Any]:
    """Returns the tags, the distinct sets of runs, and for each tag the index of its set."""
    having: dict[str, list[int]] = {}
    for run, tag in keys:
        having.setdefault(tag, []).append(numbers[run])
    sets: dict[tuple[int, ...], int] = {}
    tags = sorted(having, key=natural)
    of = [sets.setdefault(tuple(having[tag]), len(sets)) for tag in tags]
    return {"tags": tags, "sets": [list(each) for each in sets], "of": of}


def kept_indices(history: History) -> IntArray:
    """Returns the indices of a history's values that were not abandoned.

    Raises:
        ArgumentError: All values were abandoned.
    """
    kept = np.flatnonzero(~history.abandoned)
    if not len(kept):
        raise ArgumentError("All that was written here was abandoned: the run went back.")
    return kept
