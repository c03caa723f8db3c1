"""Draws the first charts of a board as a picture for the saved notebook."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtrain.logdir.scalars import Scalars
from nbtrain.logdir.selection import Selection
from nbtrain.panel.curves import Want, buckets_of_each, what_counts
from nbtrain.panel.figure import INK, between_gaps, frame, framed, mark, saved, writable
from nbtrain.panel.legend import Legend
from nbtrain.panel.titles import TITLE
from nbtrain.panel.wording import cut

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CHARTS = 4  # the first are drawn
_MOST = 1e300  # larger values are drawn here: the axis would overflow a float
_CHART = 2.2  # inches


def png(scalars: Scalars, *, x: str = "step", smooth: float = 0.0) -> bytes | None:
    """Draws the first charts; None if there are none."""
    draw = functools.partial(draw_tag, scalars, x=x, smooth=smooth)
    return charts(scalars, scalars.tags, _CHART, draw)


def charts(
    found: Selection[Any],
    titles: Sequence[str],
    height: float,
    draw: Callable[[Axes, str, Legend], None],
    validation: str = "dashed",
) -> bytes | None:
    """Draws the first charts, each of a height in inches; None if there are none.

    Args:
        validation: The look of a validation, in words for the legend.
    """
    if not titles:
        return None
    drawn, legend = titles[:_CHARTS], Legend.of(found.runs, found.reader.title)
    figure, each_axes = framed(len(drawn), height, legend.height)
    for axes, title in zip(each_axes, drawn, strict=True):
        words = writable(cut(title, TITLE))
        axes.set_title(words, fontsize=9, loc="left", parse_math=False, color=INK)
        draw(axes, title, legend)
        frame(axes)
    legend.draw(figure, len(titles) - len(drawn), validation)
    return saved(figure)


def draw_tag(
    scalars: Scalars,
    axes: Axes,
    tag: str,
    legend: Legend,
    *,
    x: str = "step",
    smooth: float = 0.0,
    dash: Any = None,
) -> None:
    """Draws the curves of a tag, in a dash if lines of one run need one to be told apart."""
    want = Want(tag, x=x, smooth=smooth)
    lines = [(run, style) for run, style in legend.styles(dash) if (run, tag) in scalars]
    limit = buckets_of_each(len(lines))
    for run, style in lines:
        rows, _ = what_counts(scalars[run, tag], want, limit)
        place, mean, smoothed = rows[:, 0], rows[:, 1], rows[:, 4]
        finite = np.isfinite(mean)
        mean, smoothed = np.clip(mean, -_MOST, _MOST), np.clip(smoothed, -_MOST, _MOST)
        if smooth:
            raw = np.where(finite, mean, np.nan)
            axes.plot(place, raw, color=style["color"], lw=0.8, alpha=0.35)
        axes.plot(place, np.where(finite, smoothed, np.nan), **style)
        alone = between_gaps(finite)
        axes.plot(place[alone], smoothed[alone], ".", color=style["color"])
        mark(axes, place[rows[:, 5:].any(axis=1)])
