"""Draws the first charts of a board as a picture for the saved notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nbtrain.logdir.scalars import Scalars
from nbtrain.panel.curves import Want, buckets_of_each, what_counts
from nbtrain.panel.figure import COLOURS, INK, frame, framed, mark, saved, short, writable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CHARTS, RUNS = 4, 12  # the first of each are drawn
_DASHES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (9, 2)))  # as in tags.js
_FEW = 100  # a curve with fewer points shows lone values between gaps as dots
_MOST = 1e300  # larger values are drawn here: the axis would overflow a float
_CHART, _LINE, _NAMED = 2.2, 0.2, 3  # inches; runs in a line of the legend


def png(scalars: Scalars, *, x: str = "step", smooth: float = 0.0) -> bytes | None:
    """Draws the first charts; None if there are none."""
    tags, runs = scalars.tags, scalars.runs
    if not tags:
        return None
    shown, named = tags[:CHARTS], runs[:RUNS]
    figure, each_axes = framed(len(shown), _CHART, _LINE * (2 + len(named) / _NAMED))
    for axes, tag in zip(each_axes, shown, strict=True):
        title = writable(short(tag))
        axes.set_title(title, fontsize=9, loc="left", parse_math=False, color=INK)
        _draw(axes, scalars, Want(tag, x=x, smooth=smooth), named)
    legend(figure, named, len(tags) - len(shown), len(runs) - len(named))
    return saved(figure)


def legend(figure: Figure, runs: list[str], more_tags: int, more_runs: int) -> None:
    """Names the runs below the charts, and says how many tags and runs are left out."""
    from matplotlib.lines import Line2D

    samples = [Line2D([], [], **line_style(number)) for number in range(len(runs))]
    told = figure.legend(
        samples,
        [writable(short(run)) or " " for run in runs],
        loc="outside lower left",
        ncols=_NAMED,
        fontsize=8,
        frameon=False,
        title=_left_out(more_tags, more_runs) or None,
        title_fontsize=8,
        labelcolor=INK,
    )
    told.get_title().set_color(INK)
    for text in told.get_texts():
        text.set_parse_math(False)  # a name is not a formula


def _draw(axes: Axes, scalars: Scalars, want: Want, runs: list[str]) -> None:
    limit = buckets_of_each(len(runs))
    for number, run in enumerate(runs):
        if (run, want.tag) not in scalars:
            continue
        rows, _ = what_counts(scalars[run, want.tag], want, limit)
        place, mean, smooth = rows[:, 0], rows[:, 1], rows[:, 4]
        finite = np.isfinite(mean)
        mean, smooth = np.clip(mean, -_MOST, _MOST), np.clip(smooth, -_MOST, _MOST)
        style = line_style(number)
        if want.smooth:
            raw = np.where(finite, mean, np.nan)
            axes.plot(place, raw, color=style["color"], lw=0.8, alpha=0.35)
        line = np.where(finite, smooth, np.nan)
        dots = len(place) == 1 or (not finite.all() and len(place) < _FEW)
        axes.plot(place, line, **style, marker="." if dots else "")
        mark(axes, place[~finite])
    frame(axes)


def line_style(number: int) -> dict[str, Any]:
    """The line style of a run, the same as on the page."""
    colour, dash = COLOURS[number % len(COLOURS)], _DASHES[number % len(_DASHES)]
    return {"color": colour, "linestyle": dash, "lw": 1.3}


def _left_out(tags: int, runs: int) -> str:
    """Says what the picture leaves out."""
    parts = [f"{count} {what}" for count, what in ((tags, "tags"), (runs, "runs")) if count]
    return f"not shown: {', '.join(parts)}" if parts else ""
