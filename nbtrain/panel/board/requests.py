"""Answers the requests of a board's page: curves, and the values of summaries.

    want         the curves of a tag
    csv, svg     its points, or its chart, as a file
    history      the steps at which a tag of a run was written
    summary      the value at one of these steps, read from its file now
    pr_curves    see pr_curves.py
    graph, node, find           see graph_requests.py
    hparams, compare, layout    see tables.py

A history omits abandoned values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from nbtrain.core.errors import ArgumentError
from nbtrain.logdir.graphs import Graphs
from nbtrain.logdir.history import History
from nbtrain.logdir.scalars import Scalars
from nbtrain.media.drawing import DRAWING
from nbtrain.panel import media
from nbtrain.panel.board.curves import Want, as_csv, curves, state_of
from nbtrain.panel.board.graph_requests import GRAPHS
from nbtrain.panel.board.index import KIND_OF, Selections, kept_indices
from nbtrain.panel.board.pr_curves import pr_curves
from nbtrain.panel.board.tables import TABLES, table
from nbtrain.panel.histograms import bands, buckets_of, ridges, spread
from nbtrain.panel.media import Sent

# The most histograms that a card shows over all steps.
RIDGES, BANDS = 50, 250


def answer(found: Selections, content: Mapping[str, Any]) -> Sent | None:
    """Returns the answer to a message; None if the message is not a request.

    Args:
        found: The summaries of each kind.
        content: The message.

    Raises:
        ArgumentError: The message is malformed, or what it asks for cannot be shown.
        UnknownTagError: There is no such run or tag.
        OSError: A file cannot be read.
    """
    asked = _ANSWERS.get(str(content.get("t")))
    return asked(found, content) if asked else None


def _curves(found: Selections, content: Mapping[str, Any]) -> Sent:
    scalars, want = _scalars(found), Want.of(content)
    state = state_of(scalars, want)
    if state == content.get("known"):
        return {"t": "same"}, []
    entries, buffer = curves(scalars, want)
    return {"t": "curves", "known": state, "runs": entries}, [buffer]


def _csv(found: Selections, content: Mapping[str, Any]) -> Sent:
    return {"t": "file"}, [as_csv(_scalars(found), Want.of(content))]


def _svg(found: Selections, content: Mapping[str, Any]) -> Sent:
    # Loaded with the first picture: a board is shown before.
    from nbtrain.panel.board import picture

    want, lines = Want.of(content), content.get("lines")
    if not isinstance(lines, list):
        raise ArgumentError(f"lines={lines!r:.80} is not a list of lines of a chart.")
    described = [*map(picture.DrawnLine.of, lines)]
    log, outliers = content.get("log") is True, content.get("outliers") is True
    with DRAWING:
        drawn = picture.svg(_scalars(found), want, described, log=log, outliers=outliers)
    return {"t": "file"}, [drawn]


def _scalars(found: Selections) -> Scalars:
    scalars = found["scalars"]
    assert isinstance(scalars, Scalars)
    return scalars


def _table(found: Selections, content: Mapping[str, Any]) -> Sent:
    return table(_scalars(found), content)


def _pr_curves(found: Selections, content: Mapping[str, Any]) -> Sent:
    return pr_curves(found["pr_curves"], content)


def _graph(found: Selections, content: Mapping[str, Any]) -> Sent:
    graphs = found["graphs"]
    assert isinstance(graphs, Graphs)
    return GRAPHS[content["t"]](graphs, content)


def _history(found: Selections, content: Mapping[str, Any]) -> Sent:
    history, kept = _asked(found, content)
    steps, wall_times = history.steps[kept], history.wall_times[kept]
    state = f"{len(history)}:{wall_times[-1]!r}"
    if state == content.get("known"):
        return {"t": "same"}, []
    columns = np.concatenate([steps.astype(np.float64), wall_times])
    return {"t": "history", "known": state}, [columns.astype("<f8").tobytes()]


def _summary(found: Selections, content: Mapping[str, Any]) -> Sent:
    history, kept = _asked(found, content)
    at = content.get("at")
    if type(at) is not int or not -1 <= at < len(kept):
        raise ArgumentError(f"at={at!r} is not an index of {len(kept)} steps.")
    at, kind = at % len(kept), content["kind"]
    if kind in _SAMPLES:
        more, buffers = _SAMPLES[kind](history[kept[at]])
    else:
        more, buffers = _CHARTS[kind](history, kept, at)
    return {"t": "summary", "step": int(history.steps[kept[at]]), **more}, buffers


def _asked(found: Selections, content: Mapping[str, Any]) -> tuple[History, Any]:
    """The requested history, and the indices of its values that were not abandoned."""
    kind, run, tag = (str(content.get(name)) for name in ("kind", "run", "tag"))
    if kind not in {**_SAMPLES, **_CHARTS}:
        kinds = ", ".join({**_SAMPLES, **_CHARTS})
        raise ArgumentError(f"kind={kind!r} is not a kind; there are: {kinds}.")
    history: History = found[KIND_OF[kind]][run, tag]
    return history, kept_indices(history)


def _ridges(history: History, kept: Any, at: int) -> Sent:
    """Edges of bins, then the counts of each shown step, with its position in the history."""
    shown = spread(len(kept), RIDGES)
    shown[np.abs(shown - at).argmin()] = at
    edges, counts = ridges(buckets_of(history, kept[shown]))
    numbers = np.concatenate([edges, counts.ravel()])
    return {"shown": shown.tolist()}, [numbers.astype("<f8").tobytes()]


def _bands(history: History, kept: Any, _at: int) -> Sent:
    """The percentiles of each shown step, with its position in the history."""
    shown = spread(len(kept), BANDS)
    rows = np.array([bands(each) for each in buckets_of(history, kept[shown])])
    return {"shown": shown.tolist()}, [rows.astype("<f8").tobytes()]


# Summaries of a single step, and of several.
_SAMPLES: dict[str, Callable[[Any], Sent]] = {
    "images": media.images,
    "text": media.text,
    "audio": media.sounds,
}
_CHARTS: dict[str, Callable[[History, Any, int], Sent]] = {
    "histograms": _ridges,
    "distributions": _bands,
}
_ANSWERS: dict[str, Callable[[Selections, Mapping[str, Any]], Sent]] = {
    "want": _curves,
    "csv": _csv,
    "svg": _svg,
    "history": _history,
    "summary": _summary,
    "pr_curves": _pr_curves,
    **dict.fromkeys(GRAPHS, _graph),
    **dict.fromkeys(TABLES, _table),
}
