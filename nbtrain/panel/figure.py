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
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nbtrain.core.states import Status
from nbtrain.core.values.arrays import FloatArray
from nbtrain.panel.live.lines import Line, lines_of
from nbtrain.panel.live.marks import beginning, legend, signs
from nbtrain.panel.live.view import RECEIPT_CHARS, headline, last_value
from nbtrain.panel.outliers import inner
from nbtrain.panel.validations import NAME
from nbtrain.panel.wording import cut
from nbtrain.recording.parts import Curve
from nbtrain.rundir.journal import Mark

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#1f77b4", "#d95f02", "#2a9d5c", "#9467bd", "#b8860b", "#c2185b")
GREY = "#8c8c8c"
DPI = 110
GROUND = "#ffffff"
# Text has a contrast of 5.8:1 or more with the background, as in the light panel; lines (COLOURS,
# GREY) have 3:1 or more.
INK, AMBER, RED = "#5f6368", "#8a5a00", "#b3261e"
_FAINT = 0.65  # opacity of the sign of an abandoned mark
_WIDTH, _LINES = 144, 8  # characters in a line of text, and lines of one message
_BREADTH = 10.4  # inches: most cells show it at this size, a narrower one shrinks it
_MARGIN, _LINE, _CHART = 0.2, 0.17, 2.4  # inches
_NEAR, _ABOVE = 6, 16  # points from a chart to its title, without and with signs in between
_TITLE_SIZE, _LEGEND_SIZE = 9.0, 8.5  # points
TITLE, _HALF_TITLE = 50, 30  # characters of a tag above a chart, alone and beside its validation
_APART = 0.07  # distance between two signs, as a fraction of the chart's width
_ROOM = 0.05  # above and below the values, as a fraction of their range
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
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    charts = lines_of(curves)
    words = list(_words(status, recorded=bool(charts)))
    if charts and marks:
        words += [(writable(part), INK) for part in _wrapped(legend(marks))]
    words += [(writable(part), INK) for line in last.splitlines() for part in _wrapped(line)]
    head = _MARGIN + _LINE * len(words)
    figure, each_axes = framed(len(charts), _CHART, head)
    height = figure.get_figheight()
    figure.set_layout_engine(ConstrainedLayoutEngine(rect=(0, 0, 1, 1 - head / height)))
    for index, (text, colour) in enumerate(words):
        y = 1 - (_MARGIN / 2 + _LINE * index) / height
        figure.text(0.01, y, text, fontsize=8.5, va="top", color=colour, parse_math=False)
    for axes, lines in zip(each_axes, charts, strict=True):
        _draw(axes, lines)
        _sign(axes, marks)
        _entitle(axes, lines, status, _ABOVE if marks else _NEAR)
    return saved(figure)


def framed(count: int, row: float, more: float = 0.0) -> tuple[Figure, list[Axes]]:
    """Returns a figure with `count` axes in one or two columns.

    The figure has its own canvas: pyplot, its backend and its figures are not changed.

    Args:
        count: The number of axes.
        row: The height of a row in inches.
        more: Further inches above or below the rows.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = min(2, max(1, count))
    rows = -(-count // columns)
    figure = Figure(figsize=(_BREADTH, row * rows + more), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, [figure.add_subplot(rows, columns, index + 1) for index in range(count)]


def saved(figure: Figure) -> bytes:
    """Returns the figure as a PNG with the background, whatever style the user has set."""
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=DPI, transparent=True, facecolor=GROUND)
    return out.getvalue()


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
        parts = [curve.buckets for line in lines for curve in line.kept]
        leave_out(axes, [(b.steps, y) for b in parts for y in (b.mean, b.lo, b.hi)])
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


def leave_out(
    axes: Axes, points: Sequence[tuple[FloatArray, FloatArray]], *, log: bool = False
) -> None:
    """Leaves outliers out of the vertical axis, and marks their places.

    Args:
        axes: The chart, once all curves that set its scale are drawn.
        points: The places and the values of these curves.
        log: Whether the axis is logarithmic.
    """
    places = np.concatenate([np.empty(0), *(places for places, _ in points)])
    values = np.concatenate([np.empty(0), *(values for _, values in points)])
    shown = np.isfinite(values) & ((values > 0) | (not log))
    places, values = places[shown], values[shown]
    found = inner(np.log10(values) if log else values)
    if found is None:
        return
    least, most = found
    room = _ROOM * (most - least)
    ends = np.array([least - room, most + room])
    low, high = 10**ends if log else ends
    axes.set_ylim(low, high)
    for beyond, look, height in ((values > high, "^", 0.97), (values < low, "v", 0.03)):
        at = np.unique(places[beyond])
        across = axes.get_xaxis_transform()
        axes.plot(at, np.full(len(at), height), look, color=RED, fillstyle="none", transform=across)


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
        text, fontsize=_TITLE_SIZE, loc="left", parse_math=False, pad=pad, color=INK
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
    axes.tick_params(labelsize=8, labelcolor=INK, color=INK)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("bottom", "left"):
        axes.spines[side].set_color(INK)
