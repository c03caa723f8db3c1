"""The panel as a picture: what stays in a saved notebook."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from nbtrain.panel.view import headline, number
from nbtrain.states import Status
from nbtrain.store import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = ("#1f77b4", "#d95f02", "#2a9d5c", "#9467bd", "#b8860b", "#c2185b")
_GREY = "#8c8c8c"
_RED = "#c62828"
_DPI = 110
_TITLE = 36  # characters of a tag that fit over half a figure


def png(status: Status, curves: Sequence[Curve]) -> bytes:
    """Draw a run: one chart a tag, and its status as the title.

    Draws on a canvas of its own: pyplot, its backend and its figures are not touched.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    tags = list(dict.fromkeys(curve.tag for curve in curves))
    columns = min(2, max(1, len(tags)))
    rows = max(1, -(-len(tags) // columns))
    figure = Figure(figsize=(7.6, 0.5 + 2.2 * rows if tags else 0.6), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(headline(status), fontsize=9, x=0.01, ha="left", parse_math=False)
    for index, tag in enumerate(tags):
        axes = figure.add_subplot(rows, columns, index + 1)
        _draw(axes, [curve for curve in curves if curve.tag == tag], _COLOURS[index % 6])
        last = status.values.get(tag)
        shown = tag if len(tag) <= _TITLE else tag[: _TITLE - 1] + "…"
        title = shown if last is None else f"{shown}  {number(last)}"
        axes.set_title(title, fontsize=9, loc="left", parse_math=False)  # a tag is no formula
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=_DPI)
    return out.getvalue()


def _draw(axes: Axes, curves: Sequence[Curve], colour: str) -> None:
    for curve in curves:
        buckets = curve.buckets
        kept = np.ones(len(buckets.steps), dtype=bool)
        if curve.until is not None:
            kept = buckets.steps <= curve.until
            abandoned = ~kept
            abandoned[:-1] |= abandoned[1:]  # from the last kept point on
            axes.plot(buckets.steps[abandoned], buckets.mean[abandoned], "--", color=_GREY, lw=1)
        steps = buckets.steps[kept]
        with np.errstate(invalid="ignore"):
            finite = np.isfinite(buckets.mean[kept])
        if buckets.stride > 1:
            lo, hi = buckets.lo[kept], buckets.hi[kept]
            axes.fill_between(steps, lo, hi, where=finite, color=colour, alpha=0.2, lw=0)
        mean = np.where(finite, buckets.mean[kept], np.nan)
        axes.plot(steps, mean, color=colour, lw=1.3, marker="." if len(steps) == 1 else "")
        if not finite.all():
            marks, base = steps[~finite], np.zeros((~finite).sum())
            axes.plot(marks, base, "x", color=_RED, transform=axes.get_xaxis_transform())
    axes.grid(visible=True, color="#0001")
    axes.tick_params(labelsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
