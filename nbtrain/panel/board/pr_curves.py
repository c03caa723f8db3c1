"""The precision-recall curves of a board's page: one chart for each tag, a curve for each run.

A page requests the curves of some runs, each at one of the steps at which it was written. The
answer also contains these steps. If a curve cannot be read, or cannot be drawn completely, the
answer says so in words, and the other curves are drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nbtrain.core.errors import ArgumentError, NbtrainError
from nbtrain.logdir.history import History
from nbtrain.logdir.selection import Selection
from nbtrain.panel.board.index import kept_indices
from nbtrain.panel.board.refusals import refusal
from nbtrain.panel.media import Sent, curve_rows
from nbtrain.tfevents.pr_curves import PrCurve


def pr_curves(curves: Selection[History], content: Mapping[str, object]) -> Sent:
    """Returns the curves of a tag in some runs.

    There is a buffer of float64 for each run with a curve that the page does not know: the steps,
    their wall times, then one row after the other with a number for each threshold: thresholds,
    true positives, false positives, true negatives, false negatives, precision and recall.

    Raises:
        ArgumentError: The message is malformed.
    """
    tag, asked = content.get("tag"), content.get("runs")
    if not isinstance(tag, str) or not isinstance(asked, list):
        raise ArgumentError(f"tag={tag!r} and runs={asked!r} are not a name and a list of runs.")
    entries, buffers = [], []
    for each in asked:
        match each:
            case {"run": str(run), "at": int(at), "known": str() | None as known} if at >= -1:
                entry, buffer = _entry(curves, (run, tag), at, known)
            case _:
                raise ArgumentError(f"{each!r} is not the name of a run with the index of a step.")
        entries.append(entry)
        buffers += buffer
    return {"t": "pr_curves", "runs": entries}, buffers


def _entry(
    curves: Selection[History], key: tuple[str, str], at: int, known: str | None
) -> tuple[dict[str, Any], list[bytes]]:
    run = key[0]
    try:
        history = curves[key]
        kept = kept_indices(history)
        place = len(kept) - 1 if at < 0 else min(at, len(kept) - 1)
        walls = history.wall_times[kept]
        state = f"{len(kept)}:{float(walls[-1])!r}:{place}"
        if state == known:
            return {"run": run, "same": True}, []
        curve = history[kept[place]]
        assert isinstance(curve, PrCurve)
    except (NbtrainError, OSError) as error:
        return {"run": run, "problem": refusal(error)}, []
    rows, note = curve_rows(curve)
    numbers = [history.steps[kept].astype(np.float64), walls, rows.ravel()]
    entry = {"run": run, "known": state, "steps": len(kept), "at": place, "note": note}
    return entry, [np.concatenate(numbers).astype("<f8").tobytes()]
