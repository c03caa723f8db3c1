"""Draws the first charts of precision-recall curves as a picture for the saved notebook."""

from __future__ import annotations

import functools
import textwrap
from typing import TYPE_CHECKING, Any

from nbtrain.core.errors import NbtrainError
from nbtrain.logdir.history import History, fact_of
from nbtrain.logdir.selection import Selection
from nbtrain.panel.board_figure import charts
from nbtrain.panel.board_index import what_counts
from nbtrain.panel.figure import INK, writable
from nbtrain.panel.legend import Legend
from nbtrain.panel.pr_curves import shown
from nbtrain.tfevents.pr_curves import PrCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CHART, _WIDTH = 2.6, 50  # inches; characters in a line of words


def png(curves: Selection[History]) -> bytes | None:
    """Draws the latest curves; None if there are none."""
    return charts(curves, curves.tags, _CHART, functools.partial(_draw, curves))


def _draw(curves: Selection[History], axes: Axes, tag: str, legend: Legend) -> None:
    axes.set(xlim=(0, 1), ylim=(0, 1.03))
    axes.set_xlabel("recall", fontsize=8, color=INK)
    axes.set_ylabel("precision", fontsize=8, color=INK)
    problems = [
        problem
        for run, style in legend.styles()
        if (run, tag) in curves and (problem := _draw_curve(axes, curves, (run, tag), style))
    ]
    words = "\n".join(map(writable, textwrap.wrap("".join(problems[:1]), _WIDTH)))
    told = axes.text(0.03, 0.05, words, fontsize=8, color=INK, parse_math=False)
    told.set_in_layout(False)


def _draw_curve(
    axes: Axes, curves: Selection[History], key: tuple[str, str], style: dict[str, Any]
) -> str:
    """Draws a curve; returns why it cannot."""
    try:
        history = curves[key]
        curve = history[what_counts(history)[-1]]
    except (NbtrainError, OSError) as error:
        return fact_of(error)
    assert isinstance(curve, PrCurve)
    rows, _ = shown(curve)
    axes.plot(rows[6], rows[5], **style, marker="." if rows.shape[1] == 1 else "")
    return ""
