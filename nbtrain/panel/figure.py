"""The panel as a picture: what stays in a saved notebook."""

from __future__ import annotations

import functools
import io
import textwrap
import unicodedata
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from nbtrain.hyperparameters import PREFIX
from nbtrain.journal import Mark
from nbtrain.panel.marks import legend, signs
from nbtrain.panel.view import headline, number
from nbtrain.states import Status
from nbtrain.store import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#1f77b4", "#d95f02", "#2a9d5c", "#9467bd", "#b8860b", "#c2185b")
GREY = "#8c8c8c"
RED = "#c62828"
DPI = 110
_SOFT, _AMBER = "#5f6368", "#8a5a00"
TITLE = 36  # characters of a tag that fit over half a figure
_WIDTH, _LINES = 104, 8  # characters of a line of words, and lines of one matter
_MARGIN, _LINE, _CHART = 0.2, 0.17, 2.2  # inches
_ABOVE = 16  # points from a chart to its title, where signs stand between
_APART = 0.07  # of the width of a chart, between two signs


def png(status: Status, curves: Sequence[Curve], marks: Sequence[Mark] = ()) -> bytes:
    """Draw a run: its status in words, and below one chart a tag, with the marks.

    Draws on a canvas of its own: pyplot, its backend and its figures are not touched.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    tags = [
        tag for tag in dict.fromkeys(curve.tag for curve in curves) if not tag.startswith(PREFIX)
    ]
    columns = min(2, max(1, len(tags)))
    rows = -(-len(tags) // columns)
    lines = list(_words(status, recorded=bool(tags)))
    if tags and marks:
        lines += [(writable(part), _SOFT) for part in _wrapped(legend(marks))]
    head = _MARGIN + _LINE * len(lines)
    height = head + _CHART * rows
    below = ConstrainedLayoutEngine(rect=(0, 0, 1, 1 - head / height))
    figure = Figure(figsize=(7.6, height), layout=below)
    FigureCanvasAgg(figure)
    for index, (text, colour) in enumerate(lines):
        y = 1 - (_MARGIN / 2 + _LINE * index) / height
        figure.text(0.01, y, text, fontsize=8.5, va="top", color=colour, parse_math=False)
    for index, tag in enumerate(tags):
        axes = figure.add_subplot(rows, columns, index + 1)
        _draw(axes, [curve for curve in curves if curve.tag == tag], COLOURS[index % 6])
        last = status.values.get(tag)
        title = short(tag) if last is None else f"{short(tag)}  {number(last)}"
        # A tag is no formula.
        pad = _ABOVE if marks else None
        axes.set_title(writable(title), fontsize=9, loc="left", parse_math=False, pad=pad)
        _sign(axes, marks)
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=DPI)
    return out.getvalue()


def _words(status: Status, *, recorded: bool) -> Iterator[tuple[str, str]]:
    """Lines of text and their colours: how the run stands, and what there is to know."""
    matters = [(headline(status), "black"), (status.notice, _SOFT), (status.message, _AMBER)]
    if status.error:
        matters.append((status.error.strip().splitlines()[-1], RED))
    if not recorded:
        matters.append(("No scalars were recorded.", _SOFT))
    for text, colour in matters:
        lines = [part for line in (text or "").splitlines() for part in _wrapped(line)]
        if len(lines) > _LINES:
            lines[_LINES - 1 :] = ["…"]
        yield from ((writable(line), colour) for line in lines)


def _wrapped(line: str) -> list[str]:
    wide = any(unicodedata.east_asian_width(character) in "WF" for character in line)
    return textwrap.wrap(line, _WIDTH // 2 if wide else _WIDTH)


def short(name: str, most: int = TITLE) -> str:
    """The name, or so many characters of it."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


def writable(text: str) -> str:
    """The text with a box for what no font of the user's has: matplotlib would warn of it."""
    from matplotlib.font_manager import FontProperties, findfont

    fonts = [findfont(FontProperties(family=[name])) for name in FontProperties().get_family()]
    known = frozenset().union(*map(_characters, fonts))
    return "".join(each if ord(each) in known else "□" for each in text)


@functools.cache
def _characters(font: str) -> frozenset[int]:
    from matplotlib.font_manager import get_font

    return frozenset(get_font(font).get_charmap())


def _draw(axes: Axes, curves: Sequence[Curve], colour: str) -> None:
    for curve in curves:
        buckets = curve.buckets
        kept = _kept(curve)
        steps = buckets.steps[kept]
        with np.errstate(invalid="ignore"):
            finite = np.isfinite(buckets.mean[kept])
        if buckets.stride > 1:
            lo, hi = buckets.lo[kept], buckets.hi[kept]
            axes.fill_between(steps, lo, hi, where=finite, color=colour, alpha=0.2, lw=0)
        mean = np.where(finite, buckets.mean[kept], np.nan)
        axes.plot(steps, mean, color=colour, lw=1.3, marker="." if len(steps) == 1 else "")
        mark(axes, steps[~finite])
    # The scale is that of what counts, or else it would be a flat line below a bad tail.
    if any(np.isfinite(curve.buckets.mean[_kept(curve)]).any() for curve in curves):
        axes.autoscale_view()
        axes.autoscale(enable=False, axis="y")
    for curve in curves:
        buckets, abandoned = curve.buckets, ~_kept(curve)
        abandoned[:-1] |= abandoned[1:]  # from the last kept point on
        axes.plot(buckets.steps[abandoned], buckets.mean[abandoned], "--", color=GREY, lw=1)
    frame(axes)


def _kept(curve: Curve) -> npt.NDArray[np.bool_]:
    steps = curve.buckets.steps
    return steps <= (np.inf if curve.until is None else curve.until)


def mark(axes: Axes, places: npt.NDArray[np.float64]) -> None:
    """Mark where values are that no line can show."""
    if len(places):
        base = np.zeros(len(places))
        axes.plot(places, base, "x", color=RED, transform=axes.get_xaxis_transform())


def _sign(axes: Axes, marks: Sequence[Mark]) -> None:
    """What was done to the run, above the chart; a sign for one step has a line there."""
    low, high = axes.get_xlim()
    for sign in signs(marks, low, high, _APART * (high - low)):
        colour = GREY if sign.abandoned else "black"
        text, above = writable(sign.text), axes.get_xaxis_transform()
        axes.text(sign.place, 1.02, text, color=colour, fontsize=7, ha="center", transform=above)
        if sign.first == sign.last:
            axes.axvline(sign.place, color=colour, alpha=0.25, lw=0.7)
        else:
            axes.plot([sign.first, sign.last], [1, 1], color=colour, lw=1, transform=above)
    axes.set_xlim(low, high)


def frame(axes: Axes) -> None:
    """A grid, small numbers, and no lines but the two axes."""
    axes.grid(visible=True, color="#0001")
    axes.tick_params(labelsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
