"""Draws the first cards of a board as a picture for the saved notebook."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtrain.core.errors import ArgumentError, NbtrainError
from nbtrain.core.natural import natural
from nbtrain.logdir.history import History, fact_of
from nbtrain.logdir.selection import Selection
from nbtrain.panel.board_index import what_counts
from nbtrain.panel.figure import (
    GREY,
    GROUND,
    INK,
    between_gaps,
    frame,
    framed,
    saved,
    short,
    writable,
)
from nbtrain.panel.histograms import PERCENTILES, bands, buckets_of, ridges, spread
from nbtrain.panel.legend import COLOURS, RUNS
from nbtrain.panel.media_figure import draw_sound, draw_text
from nbtrain.panel.validations import fits_of, folder_of
from nbtrain.panel.wording import cut
from nbtrain.tfevents.values import Audio, Images, Text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CARDS = 4  # the first ones are drawn
# Inches, characters in a line; steps and pixels that can be told apart.
_CARD, _WIDTH, _STEPS, _PIXELS = 2.4, 44, 30, 1 << 18
_TITLE = 50  # characters of a tag and a run, which has at least so many of them:
_RUN = 16
_OVER = 8  # rows that the highest ridge may cover


def png(found: Selection[History], tab: str, runs: Sequence[str] = ()) -> bytes | None:
    """Draws the latest value of the first cards; None if none can be drawn.

    Args:
        found: The summaries on the cards.
        tab: The tab; those in `DRAWN` can be drawn.
        runs: The runs in the order of their colours; without any, those of the cards.
    """
    keys = sorted(found, key=lambda key: [*map(natural, key[::-1])])
    if not keys or tab not in DRAWN:
        return None
    runs = runs or found.runs
    colours = {run: n % RUNS for n, fit in enumerate(fits_of(runs).values()) for run in fit}
    folder = folder_of(runs)
    figure, each_axes = framed(len(keys[:CARDS]), _CARD)
    for axes, (run, tag) in zip(each_axes, keys, strict=False):
        title = writable(title_of(tag, found.reader.title(run).removeprefix(folder)))
        try:
            history = found[run, tag]
            note = DRAWN[tab](axes, history, what_counts(history), COLOURS[colours[run]])
            title += f"\n{note}" if note else ""
        except (NbtrainError, OSError) as error:
            axes.clear()
            axes.set_axis_off()
            words = "\n".join(map(writable, textwrap.wrap(fact_of(error), _WIDTH)))
            axes.text(0, 1, words, fontsize=8, va="top", color=INK, parse_math=False)
        axes.set_title(title, fontsize=9, loc="left", parse_math=False, color=INK)
    if len(keys) > CARDS:
        left_out = f"not shown: {len(keys) - CARDS} more"
        figure.supxlabel(left_out, x=0.01, ha="left", fontsize=8, color=INK)
    return saved(figure)


def title_of(tag: str, run: str) -> str:
    """Names a card; a run's name is cut in its middle, as runs often differ in their ends only."""
    return f"{short(tag)}  {cut(run, max(_RUN, _TITLE - len(short(tag))))}"


def _image(axes: Axes, history: History, kept: Any, _colour: str) -> str:
    from PIL import Image

    value = history[kept[-1]]
    assert isinstance(value, Images)
    title = _title(history.steps[kept[-1]], len(value.encoded), "image")
    data, _ = value.shown(most_pixels=_PIXELS)
    axes.imshow(np.asarray(Image.open(io.BytesIO(data)).convert("RGBA")))
    axes.set_anchor("NW")
    axes.set_axis_off()
    return title


def _text(axes: Axes, history: History, kept: Any, _colour: str) -> str:
    value = history[kept[-1]]
    assert isinstance(value, Text)
    draw_text(axes, value)
    return f"step {history.steps[kept[-1]]:,}"


def _sound(axes: Axes, history: History, kept: Any, _colour: str) -> str:
    value = history[kept[-1]]
    assert isinstance(value, Audio)
    title = _title(history.steps[kept[-1]], len(value.clips), "clip")
    draw_sound(axes, value)
    return title


def _title(step: int, count: int, kind: str) -> str:
    """The title of the first of several images or clips, which must be there."""
    if not count:
        raise ArgumentError(f"No {kind} was written at step {step:,}.")
    return f"step {step:,}, the first of {count} {kind}s" if count > 1 else f"step {step:,}"


def _ridges(axes: Axes, history: History, kept: Any, colour: str) -> str:
    places = kept[spread(len(kept), _STEPS)]
    edges, counts = ridges(buckets_of(history, places))
    rise = _OVER / (counts.max() or 1.0)
    middles = (edges[1:] + edges[:-1]) / 2
    for row, line in enumerate(counts * rise):
        last = row == len(counts) - 1
        axes.fill_between(middles, row, row - line, color=GROUND, lw=0, zorder=row)
        ink, width = (colour, 1.4) if last else (GREY, 0.7)
        axes.plot(middles, row - line, color=ink, lw=width, zorder=row)
    labelled = spread(len(places), 4)
    axes.set_yticks(labelled, [f"{step:,}" for step in history.steps[places[labelled]]])
    axes.invert_yaxis()
    frame(axes)
    return ""


def _bands(axes: Axes, history: History, kept: Any, colour: str) -> str:
    places = kept[spread(len(kept), _STEPS)]
    rows = np.array([bands(each) for each in buckets_of(history, places)])
    steps, median = history.steps[places], len(PERCENTILES) // 2
    for outer in range(median):
        low, high = rows[:, outer], rows[:, -1 - outer]
        axes.fill_between(steps, low, high, color=colour, alpha=0.16, lw=0)
    axes.plot(steps, rows[:, median], color=colour, lw=1.3)
    for column in rows.T:
        alone = between_gaps(np.isfinite(column))  # no band, and no line
        axes.plot(steps[alone], column[alone], ".", color=colour)
    frame(axes)
    return ""


DRAWN: dict[str, Callable[[Axes, History, Any, str], str]] = {
    "images": _image,
    "histograms": _ridges,
    "distributions": _bands,
    "text": _text,
    "audio": _sound,
}
