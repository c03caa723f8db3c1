"""Draws a board's table of hyperparameters as a picture for the saved notebook."""

from __future__ import annotations

from typing import Any

from nbtrain.logdir.hparams import HParams
from nbtrain.logdir.scalars import Scalars
from nbtrain.panel.figure import INK, framed, saved, writable

# Rows that are drawn; points of a letter at most and at least; the letters of a line at the most.
_ROWS, _LARGE, _SMALL, _LETTERS = 24, 8.0, 5.0, 104
_LINE = 0.17  # inches


def png(scalars: Scalars) -> bytes | None:
    """Draws the first rows of the table; None if no run has hyperparameters."""
    table = HParams(scalars)
    if not table.rows:
        return None
    lines = repr(table).splitlines()
    size = max(_SMALL, min(_LARGE, _LARGE * _LETTERS / max(map(len, lines))))
    most = int(_LETTERS * _LARGE / size)
    shown = [line if len(line) <= most else f"{line[: most - 1]}…" for line in lines[: _ROWS + 1]]
    if len(lines) > len(shown):
        shown.append(f"… {len(table.rows) - _ROWS} more rows")
    figure, _ = framed(0, 0, _LINE * (len(shown) + 1))
    look: dict[str, Any] = {"family": "monospace", "fontsize": size, "parse_math": False}
    for number, line in enumerate(map(writable, shown)):
        y = 1 - (number + 0.5) / (len(shown) + 1)
        weight = "normal" if number else "bold"
        figure.text(0.01, y, line, va="top", color=INK, weight=weight, **look)
    return saved(figure)
