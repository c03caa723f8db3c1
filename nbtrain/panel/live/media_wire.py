"""Messages with the pictures and media of a run for a page.

A status contains only the number of tags and values. A page whose section is open sends requests,
each with a number of its own:

    tags       the kinds, tags and numbers of values
    history    the steps at which a tag was written, at most `STEPS` of them
    value      the value at one of these steps, read from its file now
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from nbtrain.core.errors import ArgumentError
from nbtrain.logdir.history import History, fact_of
from nbtrain.logdir.run_media import RunMedia
from nbtrain.panel import media
from nbtrain.panel.histograms import buckets_of, ridges, spread
from nbtrain.panel.media import Sent
from nbtrain.panel.wording import cut
from nbtrain.tfevents.pr_curves import PrCurve
from nbtrain.tfevents.values import Value

# The most steps of a tag that a page can choose from, tags that it lists, histograms that it shows
# together, pixels of one value, and characters of a writer's description.
STEPS, TAGS, RIDGES, PIXELS, NOTE_CHARS = 1000, 200, 20, 1 << 21, 500


def extent(found: RunMedia) -> dict[str, object] | None:
    """Returns the number of tags and values for a status; None for a run without media."""
    tags, count = found.extent
    return {"tags": tags, "count": count} if tags else None


def answer(found: RunMedia, content: Mapping[str, Any]) -> Sent:
    """Returns the answer to a request, with the request's number; a refusal is an answer too.

    Raises:
        ArgumentError: The request has no number, or is none of those above.
    """
    number, asked = content.get("id"), _ANSWERS.get(str(content.get("about")))
    if type(number) is not int or asked is None:
        raise ArgumentError(f"A message was ignored: {content!r:.80} is not a request about media")
    try:
        fields, buffers = asked(found, content)
    except (ArgumentError, OSError) as error:
        fields, buffers = {"about": "refused", "text": cut(fact_of(error), NOTE_CHARS)}, []
    return {"t": "media", "id": number, **fields}, buffers


def kept_by_step(history: History) -> npt.NDArray[np.int64]:
    """Returns the indices of the values that were not abandoned, in the order of their steps."""
    kept = np.flatnonzero(~history.abandoned)
    return kept[np.argsort(history.steps[kept], kind="stable")]


def _tags(found: RunMedia, _content: Mapping[str, Any]) -> Sent:
    tags = found.tags()
    return {"about": "tags", "tags": tags[:TAGS], "more": max(0, len(tags) - TAGS)}, []


def _history(found: RunMedia, content: Mapping[str, Any]) -> Sent:
    """Returns steps, wall times and indices of some of the values, including the last."""
    history = found.history(str(content.get("kind")), str(content.get("tag")))
    kept = kept_by_step(history)
    state = f"{len(history)}:{len(kept)}"
    if state == content.get("known"):
        return {"about": "same"}, []
    shown = kept[spread(len(kept), STEPS)] if len(kept) else kept
    columns = np.concatenate([history.steps[shown], history.wall_times[shown], shown])
    fields = {"about": "history", "known": state, "count": len(kept)}
    return fields, [columns.astype("<f8").tobytes()]


def _value(found: RunMedia, content: Mapping[str, Any]) -> Sent:
    kind, tag, at = str(content.get("kind")), str(content.get("tag")), content.get("at")
    if type(at) is not int:
        raise ArgumentError(f"at={at!r:.80} is not the index of a value.")
    value, note = found.value(kind, tag, at)
    history = found.history(kind, tag)
    step = int(history.steps[at])
    if kind == "histograms":
        more, buffers = _ridges(history, at)
    else:
        more, buffers = _SHOWN[kind](value)
    return {"about": "value", "step": step, "said": cut(note, NOTE_CHARS), **more}, buffers


def _ridges(history: History, at: int) -> Sent:
    """Returns the steps, bin edges and counts of some histograms, including the one at `at`."""
    kept = kept_by_step(history)
    shown = kept[spread(len(kept), RIDGES)] if len(kept) else kept
    shown = np.unique(np.append(shown, at))
    shown = shown[np.argsort(history.steps[shown], kind="stable")]
    edges, counts = ridges(buckets_of(history, shown))
    numbers = np.concatenate([edges, counts.ravel()])
    steps = history.steps[shown].tolist()
    marked = int(np.flatnonzero(shown == at)[0])
    return {"steps": steps, "marked": marked}, [numbers.astype("<f8").tobytes()]


def _curve(value: Value) -> Sent:
    """Returns a curve as recall, then precision, then thresholds."""
    rows, _ = media.curve_rows(cast(PrCurve, value))
    return {}, [rows[[6, 5, 0]].astype("<f8").tobytes()]


_SHOWN: dict[str, Callable[[Any], Sent]] = {
    "images": lambda value: media.images(value, most_pixels=PIXELS),
    "text": media.text,
    "audio": media.sounds,
    "pr_curves": _curve,
}
_ANSWERS: dict[str, Callable[[RunMedia, Mapping[str, Any]], Sent]] = {
    "tags": _tags,
    "history": _history,
    "value": _value,
}
