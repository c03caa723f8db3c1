"""Draws the panel as a picture for the saved notebook.

The picture has its own background, because a notebook may be read on white or black and no ink is
legible on both (WCAG 2.1 asks for 4.5:1; the best ink has 4.3:1).
"""

from __future__ import annotations

import functools
import io
import textwrap
import unicodedata
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nbtrain.core.states import Status
from nbtrain.panel.live.lines import Line, lines_of
from nbtrain.panel.live.marks import beginning, legend, signs
from nbtrain.panel.live.view import RECEIPT_CHARS, headline, last_value
from nbtrain.panel.validations import NAME
from nbtrain.panel.wording import cut
from nbtrain.recording.parts import Curve
from nbtrain.rundir.journal import Mark

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backend_bases import RendererBase
    from matplotlib.figure import Figure

COLOURS = ("#1f77b4", "#d95f02", "#2a9d5c", "#9467bd", "#b8860b", "#c2185b")
GREY = "#8c8c8c"
DPI = 110
GROUND = "#ffffff"
# Text has a contrast of 5.8:1 or more with the background, as in the light panel; lines (COLOURS,
# GREY) have 3:1 or more.
INK, AMBER, RED = "#5f6368", "#8a5a00", "#b3261e"
_FAINT = 0.65  # opacity of the sign of an abandoned mark
_WIDTH, _LINES = 104, 8  # characters in a line of text, and lines of one message
_MARGIN, _LINE, _CHART = 0.2, 0.17, 2.2  # inches
NEAR, _ABOVE = 6, 16  # points from a chart to its title, without and with signs in between
TITLE_SIZE, _LEGEND_SIZE = 9.0, 8.5  # points
_INCHES, _COLUMNS = 7.6, 2  # the width of a picture, and its columns if it has several charts
_EDGE = 0.05  # inches from a number to the edge of its part of the picture
_NUMBERS, _TICK = 0.25, 3.5  # inches of the numbers below a chart; points of a tick, and below it
# Inches of a factor such as 1e6, which Matplotlib writes at the end of an axis with large numbers.
_FACTOR = 0.2
TITLE, _HALF_TITLE = 36, 22  # characters of a tag above a chart, alone and beside its validation
_APART = 0.07  # distance between two signs, as a fraction of the chart's width
_FEW = 40  # a validation with at most this many points shows them


def png(
    status: Status,
    curves: Sequence[Curve],
    marks: Sequence[Mark] = (),
    last: str = "",
) -> bytes:
    """Draws a run: its status in words, then a chart for each tag with its validation.

    Args:
        last: The last lines of the text above the charts.
    """
    charts = lines_of(curves)
    words = list(_words(status, recorded=bool(charts)))
    if charts and marks:
        words += [(writable(part), INK) for part in _wrapped(legend(marks))]
    words += [(writable(part), INK) for line in last.splitlines() for part in _wrapped(line)]
    head = _MARGIN + _LINE * len(words)
    figure, each_axes = framed(len(charts), _CHART, head)
    height = figure.get_figheight()
    for index, (text, colour) in enumerate(words):
        y = 1 - (_MARGIN / 2 + _LINE * index) / height
        figure.text(0.01, y, text, fontsize=8.5, va="top", color=colour, parse_math=False)
    pad = _ABOVE if marks else NEAR
    for axes, lines in zip(each_axes, charts, strict=True):
        _draw(axes, lines)
        _sign(axes, marks)
        _entitle(axes, lines, status, pad)
    return saved(figure, _CHART, pad)


def framed(count: int, row: float, more: float) -> tuple[Figure, list[Axes]]:
    """Returns a figure with `count` axes, which `saved` puts in their places.

    The figure has its own canvas: pyplot, its backend and its figures are not changed.

    Args:
        count: The number of axes.
        row: The height of a row in inches.
        more: Further inches above or below the rows.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    size = _INCHES, row * -(-count // _COLUMNS) + more
    figure = Figure(size, DPI, facecolor=GROUND)
    figure.set_layout_engine("none")
    FigureCanvasAgg(figure)
    return figure, [figure.add_axes((0, 0, 1, 1), facecolor="none") for _ in range(count)]


def saved(figure: Figure, row: float, pad: float, below: float = 0.0) -> bytes:
    """Returns the figure as a PNG with the background, whatever style the user has set.

    All charts have the same width, which leaves room for the widest number at an axis. It is the
    only text that is measured: the layouts of Matplotlib measure each text six times, which takes
    longer than to draw the picture.

    Args:
        row: The height of a row in inches.
        pad: The distance of a title from its chart in points.
        below: Inches below the rows.
    """
    canvas: Any = figure.canvas
    least = _Room(0.3, _NUMBERS, 0.1, (pad + 1.2 * TITLE_SIZE) / 72)
    charts = figure.axes
    _place(figure, row, below, [least] * len(charts))
    rooms = [_room(axes, canvas.get_renderer(), least) for axes in charts]
    left, right = (max((each[side] for each in rooms), default=0.0) for side in (0, 2))
    for first in range(0, len(charts), _COLUMNS):
        line = slice(first, first + _COLUMNS)
        _, under, _, above = map(max, zip(*rooms[line], strict=True))
        rooms[line] = [_Room(left, under, right, above)] * len(rooms[line])
    _place(figure, row, below, rooms)
    out = io.BytesIO()
    canvas.print_png(out)
    return out.getvalue()


class _Room(NamedTuple):
    """Inches around a chart."""

    left: float
    below: float
    right: float
    above: float


def _place(figure: Figure, row: float, below: float, rooms: Sequence[_Room]) -> None:
    """Puts the charts into rows and columns, each with its room around it."""
    wide, high = figure.get_size_inches()
    columns = min(_COLUMNS, len(rooms))
    for index, (axes, room) in enumerate(zip(figure.axes, rooms, strict=True)):
        down, across = divmod(index, columns)
        left = wide / columns * across + room.left
        bottom = below + row * ((len(rooms) - 1) // columns - down) + room.below
        width = wide / columns - room.left - room.right
        height = row - room.below - room.above
        axes.set_position((left / wide, bottom / high, width / wide, height / high))


def _room(axes: Axes, renderer: RendererBase, least: _Room) -> _Room:
    """Returns the room for the numbers at the axes of a chart, which stay as they are from now."""
    from matplotlib.ticker import FixedLocator

    widths, factors = [], []
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        places, labels = axis.get_majorticklocs(), axis.get_ticklabels()
        seen = [text for at, text in zip(places, labels, strict=False) if low <= at <= high]
        widest = max(seen, key=lambda text: len(text.get_text()), default=None)
        widths.append(widest.get_window_extent(renderer).width / DPI if widest else 0.0)
        factors.append(_FACTOR if axis.get_major_formatter().get_offset() else 0.0)
        axis.set_major_locator(FixedLocator(list(places)))
    return _Room(
        left=widths[1] + 2 * _TICK / 72 + _EDGE,
        below=least.below + factors[0],
        right=widths[0] / 2 + _EDGE,
        above=least.above + factors[1],
    )


def _words(status: Status, *, recorded: bool) -> Iterator[tuple[str, str]]:
    """Yields lines of text with their colours: the state of the run, and messages."""
    matters = [(headline(status), INK), (status.notice, INK), (status.message, AMBER)]
    if status.failure:
        matters.append((cut(status.failure, RECEIPT_CHARS), RED))
    if not recorded:
        ended = status.phase.ended
        matters.append(("No metrics were recorded." if ended else "No metrics yet.", INK))
    for text, colour in matters:
        lines = [part for line in (text or "").splitlines() for part in _wrapped(line)]
        if len(lines) > _LINES:
            lines[_LINES - 1 :] = ["…"]
        yield from ((writable(line), colour) for line in lines)


def _wrapped(line: str) -> list[str]:
    wide = any(unicodedata.east_asian_width(character) in "WF" for character in line)
    return textwrap.wrap(line, _WIDTH // 2 if wide else _WIDTH)


def writable(text: str) -> str:
    """Replaces characters that no installed font has with a box; matplotlib would warn of them."""
    from matplotlib.font_manager import FontProperties, findfont

    fonts = [findfont(FontProperties(family=[name])) for name in FontProperties().get_family()]
    known = frozenset().union(*map(_characters, fonts))
    return "".join(each if ord(each) in known else "□" for each in text)


@functools.cache
def _characters(font: str) -> frozenset[int]:
    from matplotlib.font_manager import get_font

    return frozenset(get_font(font).get_charmap())


def _draw(axes: Axes, lines: Sequence[Line]) -> None:
    for line in lines:
        _draw_kept(axes, line)
    # The kept curves set the scale; otherwise they would be a flat line below a bad tail.
    if any(np.isfinite(curve.buckets.mean).any() for line in lines for curve in line.kept):
        axes.autoscale_view()
        axes.autoscale(enable=False, axis="y")
    for line in lines:
        for tail in (each for each in line.curves if each.abandoned and len(each.buckets.steps)):
            axes.plot(*_tail(tail, line.curves), "--", color=GREY, lw=1)
    frame(axes)


def _colour(line: Line) -> str:
    return COLOURS[line.validates]


def _draw_kept(axes: Axes, line: Line) -> None:
    """Draws the kept points of all segments as one line."""
    parts = [curve.buckets for curve in line.kept]
    for part in parts:
        if part.stride > 1:
            steps, lo, hi, finite = part.steps, part.lo, part.hi, np.isfinite(part.mean)
            axes.fill_between(steps, lo, hi, where=finite, color=_colour(line), alpha=0.2, lw=0)
    steps = np.concatenate([np.empty(0), *(part.steps[part.whole] for part in parts)])
    mean = np.concatenate([np.empty(0), *(part.mean[part.whole] for part in parts)])
    order = np.argsort(steps, kind="stable")  # validations of two tags may alternate
    steps, mean = steps[order], mean[order]
    finite = np.isfinite(mean)
    marker = "." if line.validates and len(steps) <= _FEW else ""
    axes.plot(steps, np.where(finite, mean, np.nan), color=_colour(line), lw=1.3, marker=marker)
    alone = between_gaps(finite)
    axes.plot(steps[alone], mean[alone], ".", color=_colour(line))
    for part in parts:
        mark(axes, part.steps[part.unseen.any(axis=1)])


def between_gaps(finite: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Returns which values are finite but have no finite neighbour: no line reaches them."""
    beside = np.pad(finite, 1)
    return np.asarray(finite & ~beside[:-2] & ~beside[2:])


def _tail(tail: Curve, curves: Sequence[Curve]) -> tuple[list[float], list[float]]:
    """Returns steps and means of a tail, after the last point before the tail in its segment."""
    whole = tail.buckets.whole
    steps, mean = list(tail.buckets.steps[whole]), list(tail.buckets.mean[whole])
    same = (tail.tag, tail.segment)
    own = [curve.buckets for curve in curves if (curve.tag, curve.segment) == same]
    before = [part for part in own if len(part.steps) and part.steps[-1] < steps[0]]
    if before:
        last = max(before, key=lambda part: float(part.steps[-1]))
        return [last.steps[last.whole][-1], *steps], [last.mean[last.whole][-1], *mean]
    return steps, mean


def mark(axes: Axes, places: npt.NDArray[np.float64]) -> None:
    """Marks values that a line cannot show."""
    if len(places):
        base = np.zeros(len(places))
        axes.plot(places, base, "x", color=RED, transform=axes.get_xaxis_transform())


def _entitle(axes: Axes, lines: Sequence[Line], status: Status, pad: float) -> None:
    """Writes a chart's tag and last value above the chart, beside them those of a validation.

    Args:
        pad: The distance from the chart in points.
    """
    from matplotlib.lines import Line2D

    most = TITLE if len(lines) == 1 else _HALF_TITLE
    words = []
    for name, line in zip([cut(lines[0].tag, most), NAME], lines, strict=False):
        value = f"  {last_value(status, line.tag)}" if line.tag in status.values else ""
        gone = " abandoned" if value and not line.kept else ""
        words.append(writable(name + value + gone))
    # A blank title reserves the space for a legend. A tag is not a formula.
    text = words[0] if len(words) == 1 else " "
    title = axes.set_title(
        text, fontsize=TITLE_SIZE, loc="left", parse_math=False, pad=pad, color=INK
    )
    if len(words) > 1:
        handles = [
            Line2D([], [], color=_colour(line), marker="." if line.validates else "")
            for line in lines
        ]
        legend = axes.legend(
            handles,
            words,
            ncols=len(words),
            loc="lower left",
            bbox_to_anchor=(0, 1),
            bbox_transform=title.get_transform(),
            borderaxespad=0,
            borderpad=0,
            columnspacing=0.9,
            handlelength=1.1,
            handletextpad=0.4,
            fontsize=_LEGEND_SIZE,
            frameon=False,
            labelcolor=INK,
        )
        legend.set_in_layout(False)
        for each in legend.get_texts():
            each.set_parse_math(False)


def _sign(axes: Axes, marks: Sequence[Mark]) -> None:
    """Draws the signs of the marks above the chart, with a line for a sign of a single step."""
    first, last = axes.dataLim.intervalx
    if first <= last:  # some values are finite
        axes.update_datalim([(beginning(marks, first, last), 0)], updatey=False)
        axes.autoscale_view(scaley=False)
    low, high = axes.get_xlim()
    for sign in signs(marks, low, high, _APART * (high - low)):
        how: dict[str, Any] = {"color": INK, "alpha": _FAINT if sign.abandoned else 1.0}
        text, above = writable(sign.text), axes.get_xaxis_transform()
        axes.text(sign.place, 1.02, text, fontsize=7, ha="center", transform=above, **how)
        if sign.first == sign.last:
            dashes = ":" if sign.abandoned else "-"
            axes.axvline(sign.place, color=INK, alpha=0.45, lw=0.7, linestyle=dashes)
        else:
            axes.plot([sign.first, sign.last], [1, 1], lw=1, transform=above, **how)
    axes.set_xlim(low, high)


def frame(axes: Axes) -> None:
    """Draws a grid, small numbers and the two axes."""
    axes.grid(visible=True, color=GREY, alpha=0.2)
    axes.tick_params(labelsize=8, labelcolor=INK, color=INK, length=_TICK, pad=_TICK)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("bottom", "left"):
        axes.spines[side].set_color(INK)
