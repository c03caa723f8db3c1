"""Tables for a board's page: hyperparameters, the comparison of runs, and layouts."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from nbtrain.core.errors import ArgumentError
from nbtrain.core.values.direction import common, is_highest
from nbtrain.logdir.comparison import Comparison
from nbtrain.logdir.custom_scalars import LAYOUT, custom_scalars
from nbtrain.logdir.hparams import HParams
from nbtrain.logdir.scalars import Scalars
from nbtrain.logdir.selection import Selection
from nbtrain.logdir.sessions import START
from nbtrain.logdir.summary_stats import Extent
from nbtrain.panel.board.layouts import chart_of
from nbtrain.panel.media import Sent
from nbtrain.panel.validations import fits_of

COLUMNS = 1000  # the most columns of hyperparameters, and of metrics, sent to a page
CHARACTERS = 10_000  # the most characters of a text value
_NONE = (math.nan,) * len(fields(Extent))  # for a tag that a run does not have


def hparams(scalars: Scalars, _content: Mapping[str, object]) -> Sent:
    """Returns each run's status, duration, tags, last note, hyperparameters and metrics."""
    table = HParams(scalars)
    names, metrics = table.hparams[:COLUMNS], table.metrics[:COLUMNS]
    rows = [
        {
            "run": row.run,
            "status": row.status,
            "about": (own := scalars.reader.about(row.run))
            and _about(own.secs, own.tags, own.notes[-1:]),
            "values": [
                *_plain(map(row.hparams.get, names)),
                *_plain(map(row.metrics.get, metrics)),
            ],
        }
        for row in table.rows
    ]
    words = [f"{scalars.reader.title(run)}: {why}" for run, why in sorted(table.unreadable.items())]
    every = {"hyperparameters": table.hparams, "metrics": table.metrics}
    words += [
        f"There are {len(each):,} {what}: the first {COLUMNS:,} are shown."
        for what, each in every.items()
        if len(each) > COLUMNS
    ]
    known = [scalars.reader.directions(row.run) for row in table.rows]
    higher = [is_highest(common(each.of(metric) for each in known)) for metric in metrics]
    columns = {"hparams": names, "metrics": metrics, "higher": higher}
    return {**columns, "rows": rows, "words": words}, []


def compare(scalars: Scalars, content: Mapping[str, object]) -> Sent:
    """Returns duration, tags, notes and settings of some runs, and the results of their scalars.

    The buffer contains float64: for each tag and each run the numbers of `Extent`, NaN if the run
    does not have the tag.

    Raises:
        ArgumentError: The message names no runs, or its tags are not names.
    """
    tags = None if content.get("tags") is None else _these(content, "tags")
    found = Comparison(scalars.filter(_these(content, "runs"), tags))
    settings = [
        {
            "name": name,
            "values": _plain(found.hparams.get(run, {}).get(name) for run in found.runs),
            "same": name in found.same,
        }
        for name in sorted({*found.differing, *found.same})
    ]
    numbers = [
        extents[run].numbers if run in extents else _NONE
        for extents in found.metrics.values()
        for run in found.runs
    ]
    higher = [is_highest(found.directions[tag]) for tag in found.metrics]
    columns = {"tags": list(found.metrics), "higher": higher}
    about = [
        _about(found.durations[run], found.tags.get(run, ()), found.notes.get(run, ()))
        for run in found.runs
    ]
    message = {"runs": found.runs, "about": about, "hparams": settings, **columns}
    return message, [np.array(numbers, "<f8").tobytes()]


def _about(secs: float, tags: Iterable[str], notes: Iterable[str]) -> dict[str, object]:
    return {"secs": secs, "tags": list(tags), "notes": _plain(notes)}


def layout(scalars: Scalars, _content: Mapping[str, object]) -> Sent:
    """Returns categories of charts, and the existing tags of each chart."""
    tags = scalars.tags
    categories = [
        {
            "title": category.title,
            "closed": category.closed,
            "charts": [chart_of(chart, tags) for chart in category.charts],
        }
        for category in custom_scalars(scalars.reader)
    ]
    return {"categories": categories}, []


def table(scalars: Scalars, content: Mapping[str, object]) -> Sent:
    """Returns the answer to a request for one of the `TABLES`; "same" if the page has it already.

    Raises:
        ArgumentError: The message is malformed.
    """
    kind = str(content["t"])
    message, buffers = TABLES[kind](scalars, content)
    state = hashlib.blake2b(json.dumps(message).encode(), digest_size=16)
    for buffer in buffers:
        state.update(buffer)
    known = state.hexdigest()
    if known == content.get("known"):
        return {"t": "same"}, []
    return {"t": kind, "known": known, **message}, buffers


TABLES: dict[str, Callable[[Scalars, Mapping[str, object]], Sent]] = {
    "hparams": hparams,
    "compare": compare,
    "layout": layout,
}


def lacking(scalars: Selection[Any]) -> dict[str, str]:
    """Returns for each tab of this module why it has nothing to show; "" if it has something."""
    reader = scalars.reader
    where = f"in {reader.logdir!r}"
    sessions = [run for run in reader.runs if START in reader.tags(run, "hparams")]
    there = {
        "hparams": any(map(scalars.chooses, sessions)),
        "custom_scalars": any(LAYOUT in reader.tags(run, "custom_scalars") for run in reader.runs),
        "compare": len(fits_of(scalars.runs)) > 1,
    }
    words = {
        "hparams": f"no run {where} has hyperparameters",
        "custom_scalars": f"no run {where} has a layout of custom scalars",
        "compare": f"there are no two runs {where} to compare",
    }
    return {tab: "" if there[tab] else words[tab] for tab in words}


def _these(content: Mapping[str, object], what: str) -> str:
    """Returns a regular expression that matches exactly the names in a message."""
    names = content.get(what)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ArgumentError(f"{what}={names!r} is not a list of names.")
    return f"^(?:{'|'.join(map(re.escape, names))})\\Z"


def _plain(values: Iterable[float | str | bool | None]) -> list[object]:
    """Converts values for a message: JSON has no NaN or infinity."""
    return [_sent(value) for value in values]


def _sent(value: float | str | bool | None) -> object:
    if isinstance(value, str) and len(value) > CHARACTERS:
        return f"{value[:CHARACTERS]}…"
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value).replace("inf", "Infinity").replace("nan", "NaN")}
    return value
