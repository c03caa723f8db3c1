"""Draws figures with Matplotlib, without pyplot: the user's figures and confusion matrices."""

from __future__ import annotations

import io
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

# Matplotlib draws in one thread at a time; drawing the pictures of notebooks needs the lock too.
DRAWING = threading.RLock()

_DPI = 100
_NAMED = 30  # classes of a confusion matrix that are named
_COUNTED = 15  # classes of a confusion matrix whose counts are written


def png_of(figure: Any) -> bytes:
    """Draws a figure as it is now; its canvas, its size and pyplot's figures stay as they are."""
    out = io.BytesIO()
    with DRAWING:
        figure.savefig(out, format="png", dpi=_DPI)
    return out.getvalue()


def matrix_figure(counts: npt.NDArray[Any], names: Sequence[str]) -> Any:
    """Draws a confusion matrix; the colour of a cell shows its share of the row."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with DRAWING:
        size = len(counts)
        inches = min(9.0, 2.6 + 0.4 * size)
        figure = Figure(figsize=(inches, inches * 0.9), layout="constrained", facecolor="white")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        totals = counts.sum(axis=1, keepdims=True)
        parts = counts / np.maximum(totals, 1)
        axes.imshow(parts, cmap="Blues", vmin=0, vmax=1)
        axes.set_xlabel("predicted", fontsize=9)
        axes.set_ylabel("true", fontsize=9)
        if size <= _NAMED:
            said = [str(name) for name in names] or [str(number) for number in range(size)]
            texts = [name if len(name) < 15 else f"{name[:13]}…" for name in said]
            turn = 90 if max(map(len, texts)) > 3 else 0
            axes.set_xticks(range(size), texts, rotation=turn, fontsize=8, parse_math=False)
            axes.set_yticks(range(size), texts, fontsize=8, parse_math=False)
        for row, column in np.ndindex(size, size) if size <= _COUNTED else ():
            ink = "white" if parts[row, column] > 0.6 else "black"
            text = f"{counts[row, column]:,}"
            axes.text(column, row, text, ha="center", va="center", color=ink, fontsize=7)
    return figure
