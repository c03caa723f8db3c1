"""Draws the first cards of a board as a picture for the saved notebook."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtrain.core.errors import NbtrainError
from nbtrain.core.natural import natural
from nbtrain.logdir.history import History, fact_of
from nbtrain.logdir.selection import Selection
from nbtrain.panel.board_index import what_counts
from nbtrain.panel.figure import COLOURS, GREY, GROUND, INK, frame, framed, saved, short, writable
from nbtrain.panel.histograms import PERCENTILES, bands, buckets_of, ridges, spread
from nbtrain.tfevents.values import Images

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CARDS = 4  # the first ones are drawn
# Inches, characters in a line; steps and pixels that can be told apart.
_CARD, _WIDTH, _STEPS, _PIXELS = 2.4, 44, 30, 1 << 18
_RUN = 16  # characters of a run's name
_OVER = 8  # rows that the highest ridge may cover


def png(found: Selection[History], tab: str) -> bytes | None:
    """Draws the latest value of the first cards; None if none can be drawn.

    Args:
        found: The summaries on the cards.
        tab: The tab; those in `DRAWN` can be drawn.
    """
    keys = list(islice(sorted(found, key=lambda key: [*map(natural, key[::-1])]), CARDS))
    if not keys or tab not in DRAWN:
        return None
    figure, each_axes = framed(len(keys), _CARD)
    for axes, (run, tag) in zip(each_axes, keys, strict=True):
        try:
            history = found[run, tag]
            DRAWN[tab](axes, history, what_counts(history))
        except (NbtrainError, OSError) as error:
            axes.clear()
            axes.set_axis_off()
            words = "\n".join(map(writable, textwrap.wrap(fact_of(error), _WIDTH)))
            axes.text(0, 1, words, fontsize=8, va="top", color=INK, parse_math=False)
        title = writable(f"{short(tag)}  {short(found.reader.title(run), _RUN)}")
        axes.set_title(title, fontsize=9, loc="left", parse_math=False, color=INK)
    return saved(figure)


def _image(axes: Axes, history: History, kept: Any) -> None:
    from PIL import Image

    value = history[kept[-1]]
    assert isinstance(value, Images)
    data, _ = value.shown(most_pixels=_PIXELS)
    axes.imshow(np.asarray(Image.open(io.BytesIO(data)).convert("RGBA")))
    axes.set_anchor("NW")
    axes.set_axis_off()


def _ridges(axes: Axes, history: History, kept: Any) -> None:
    places = kept[spread(len(kept), _STEPS)]
    edges, counts = ridges(buckets_of(history, places))
    rise = _OVER / (counts.max() or 1.0)
    middles = (edges[1:] + edges[:-1]) / 2
    for row, line in enumerate(counts * rise):
        last = row == len(counts) - 1
        axes.fill_between(middles, row, row - line, color=GROUND, lw=0, zorder=row)
        colour = COLOURS[0] if last else GREY
        axes.plot(middles, row - line, color=colour, lw=1.4 if last else 0.7, zorder=row)
    labelled = spread(len(places), 4)
    axes.set_yticks(labelled, [f"{step:,}" for step in history.steps[places[labelled]]])
    axes.invert_yaxis()
    frame(axes)


def _bands(axes: Axes, history: History, kept: Any) -> None:
    places = kept[spread(len(kept), _STEPS)]
    rows = np.array([bands(each) for each in buckets_of(history, places)])
    steps, median = history.steps[places], len(PERCENTILES) // 2
    for outer in range(median):
        low, high = rows[:, outer], rows[:, -1 - outer]
        axes.fill_between(steps, low, high, color=COLOURS[0], alpha=0.16, lw=0)
    axes.plot(steps, rows[:, median], color=COLOURS[0], lw=1.3)
    frame(axes)


DRAWN: dict[str, Callable[[Axes, History, Any], None]] = {
    "images": _image,
    "histograms": _ridges,
    "distributions": _bands,
}
