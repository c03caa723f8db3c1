"""Draws the first charts of precision-recall curves as a picture for the saved notebook."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from nbtrain.core.errors import NbtrainError
from nbtrain.logdir.history import History
from nbtrain.logdir.selection import Selection
from nbtrain.panel.board_figure import CHARTS, RUNS, legend, line_style
from nbtrain.panel.board_index import what_counts
from nbtrain.panel.figure import INK, frame, framed, saved, short, writable
from nbtrain.panel.pr_curves import shown
from nbtrain.tfevents.pr_curves import PrCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Inches; runs in a line of the legend; characters in a line of words.
_CHART, _LINE, _NAMED, _WIDTH = 2.6, 0.2, 3, 50


def png(curves: Selection[History]) -> bytes | None:
    """Draws the latest curves; None if there are none."""
    tags, runs = curves.tags, curves.runs
    if not tags:
        return None
    drawn, named = tags[:CHARTS], runs[:RUNS]
    figure, each_axes = framed(len(drawn), _CHART, _LINE * (2 + len(named) / _NAMED))
    for axes, tag in zip(each_axes, drawn, strict=True):
        title = writable(short(tag))
        axes.set_title(title, fontsize=9, loc="left", parse_math=False, color=INK)
        axes.set(xlim=(0, 1), ylim=(0, 1.03))
        axes.set_xlabel("recall", fontsize=8, color=INK)
        axes.set_ylabel("precision", fontsize=8, color=INK)
        problems = [
            problem
            for number, run in enumerate(named)
            if (run, tag) in curves and (problem := _draw(axes, curves, (run, tag), number))
        ]
        words = "\n".join(map(writable, textwrap.wrap("".join(problems[:1]), _WIDTH)))
        told = axes.text(0.03, 0.05, words, fontsize=8, color=INK, parse_math=False)
        told.set_in_layout(False)
        frame(axes)
    legend(figure, named, len(tags) - len(drawn), len(runs) - len(named))
    return saved(figure)


def _draw(axes: Axes, curves: Selection[History], key: tuple[str, str], number: int) -> str:
    """Draws a curve; returns why it cannot."""
    try:
        history = curves[key]
        curve = history[what_counts(history)[-1]]
    except (NbtrainError, OSError) as error:
        return str(error)
    assert isinstance(curve, PrCurve)
    rows, _ = shown(curve)
    axes.plot(rows[6], rows[5], **line_style(number), marker="." if rows.shape[1] == 1 else "")
    return ""
