"""Draws curves of a board: the first ones for the saved notebook, and one chart as a file."""

from __future__ import annotations

import io
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtrain.core.errors import ArgumentError
from nbtrain.core.values.arrays import FloatArray
from nbtrain.logdir.scalars import Scalars
from nbtrain.panel.board.colours import COLOURS, looks_in
from nbtrain.panel.board.curves import Want, buckets_of_each, kept_buckets, runs_of
from nbtrain.panel.figure import (
    GREY,
    GROUND,
    INK,
    TITLE,
    between_gaps,
    frame,
    framed,
    leave_out,
    mark,
    saved,
    writable,
)
from nbtrain.panel.validations import fits_of, folder_of, name_of
from nbtrain.panel.wording import cut

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_RUNS = 12  # the most fits that are drawn
_CHARTS = 4  # the most charts that are drawn
_MOST = 1e300  # larger values are drawn as this one: the axis would overflow a float
_CHART, _LINE = 2.2, 0.2  # inches of a chart and of a line of the legend
_NAME, _SUMMARY = 40, 100  # characters of a run in the legend, and of its title
_LONE_CHART = 4.0
_COLUMNS = 2
_PALE = 0.5  # the opacity of a validation where dashes tell tags apart, as in custom_chart.js
_DATE = "%Y-%m-%d\n%H:%M:%S"
_ALONG = {"step": "step", "relative": "seconds", "wall": ""}
# Dashes in line widths, as in tags.js.
_VALIDATION = (0, (3.5, 2))
_DASHES: tuple[Any, ...] = (
    "-",
    (0, (6, 2.5)),
    (0, (1.5, 2)),
    (0, (6, 2, 1.5, 2)),
    (0, (11, 2.5)),
)


def png(scalars: Scalars, *, x: str = "step", smooth: float = 0.0) -> bytes | None:
    """Draws the first charts, and a legend of the first runs; returns None without charts."""
    tags, fits = scalars.tags, fits_of(scalars.runs)
    if not tags:
        return None
    names = [scalars.reader.title(name_of(lead, runs, fits)) for lead, runs in fits.items()]
    folder = folder_of(names)
    shown = [*fits.values()][:_RUNS]
    looks = looks_in(scalars)
    styles = [_style(looks[runs[0]]) for runs in shown]
    rows = 2 + -(-len(shown) // _COLUMNS)
    figure, each_axes = framed(len(tags[:_CHARTS]), _CHART, _LINE * rows)
    for axes, tag in zip(each_axes, tags, strict=False):
        title = writable(cut(tag, TITLE))
        axes.set_title(title, fontsize=9, loc="left", parse_math=False, color=INK)
        points = _draw_fits(axes, scalars, Want(tag, x=x, smooth=smooth), shown, styles)
        leave_out(axes, points)
        frame(axes)
    left_out = [
        f"{count} {what}"
        for count, what in ((len(tags) - _CHARTS, "tags"), (len(fits) - len(shown), "runs"))
        if count > 0
    ]
    parts = [
        f"in {folder}" if folder else "",
        _dashed(shown),
        f"not shown: {', '.join(left_out)}" if left_out else "",
    ]
    short = [cut(name.removeprefix(folder), _NAME) for name in names[: len(shown)]]
    _name(figure, short, styles, cut("; ".join(filter(None, parts)), _SUMMARY))
    return saved(figure)


@dataclass(frozen=True, slots=True)
class DrawnLine:
    """A curve of a chart that is drawn as a page shows it.

    Attributes:
        run: The name of the run.
        tag: The tag.
        name: The name in the legend; "" for a validation below the name of its training.
        look: The number of the look, which gives the colour; None for a run without a group. See
            `looks_of` in colours.py.
        dash: The number of the dash in a chart where dashes tell tags apart; None elsewhere.
        validates: Whether it is the validation of a fit.
        bounds: The tags of the lower and the upper bound; None without.
    """

    run: str
    tag: str
    name: str
    look: int | None
    dash: int | None
    validates: bool
    bounds: tuple[str, str] | None

    @staticmethod
    def of(content: object) -> DrawnLine:
        """Parses the description of a line.

        Raises:
            ArgumentError: It is malformed.
        """
        match content:
            case {
                "run": str(run),
                "tag": str(tag),
                "name": str(name),
                "look": look,
                "dash": dash,
                "validates": bool(validates),
                "bounds": (None | [str(), str()]) as bounds,
            } if all(each is None or _is_index(each) for each in (look, dash)):
                pair = None if bounds is None else (bounds[0], bounds[1])
                return DrawnLine(run, tag, name, look, dash, validates, pair)
        raise ArgumentError(f"{content!r:.200} does not describe a line of a chart.")

    @property
    def style(self) -> dict[str, Any]:
        """The style of the line in matplotlib."""
        style = _style(self.look)
        if self.dash is not None:
            style |= {"linestyle": _dashes(self.dash), "alpha": _PALE if self.validates else 1.0}
        elif self.validates:
            style["linestyle"] = _VALIDATION
        return style


def _is_index(number: object) -> bool:
    return type(number) is int and number >= 0


def svg(
    scalars: Scalars, want: Want, lines: Sequence[DrawnLine], *, log: bool, outliers: bool
) -> bytes:
    """Draws one chart as a page shows it.

    Args:
        scalars: The runs.
        want: The chart; its tag is the title, and its runs are not used.
        lines: The curves.
        log: Whether the values have a logarithmic scale.
        outliers: Whether the range of the values includes outliers.
    """
    lines = [line for line in lines if (line.run, line.tag) in scalars]
    named = [line for line in lines if line.name]
    rows = 2 + -(-len(named) // _COLUMNS)
    figure, (axes,) = framed(1, _LONE_CHART, _LINE * rows)
    title = writable(cut(want.tag, _SUMMARY))
    axes.set_title(title, fontsize=10, loc="left", parse_math=False, color=INK)
    limit, points = buckets_of_each(len(lines)), []
    for line in lines:
        buckets = [
            kept_buckets(scalars[line.run, tag], want, limit)[0]
            for tag in (line.tag, *(line.bounds or ()))
            if (line.run, tag) in scalars
        ]
        points += _draw(axes, buckets[0], line.style, raw=bool(want.smooth))
        if len(buckets) == 3:
            points += _draw_band(axes, buckets, line.style)
    if log:
        axes.set_yscale("log", nonpositive="mask")
    if not outliers:
        leave_out(axes, points, log=log)
    if want.log_x:
        axes.set_xscale("log")
    axes.set_xlim(*(end if np.isfinite(end) else None for end in (want.low, want.high)))
    if want.x == "wall":
        axes.xaxis.set_major_formatter(lambda at, _: time.strftime(_DATE, time.localtime(at)))
    axes.set_xlabel(_ALONG[want.x], fontsize=8, color=INK)
    frame(axes)
    looks = {"pale" if line.dash is not None else "dashed" for line in lines if line.validates}
    _name(
        figure,
        [cut(line.name, _NAME) for line in named],
        [line.style for line in named],
        "; ".join(f"{look}: validation" for look in sorted(looks)),
    )
    out = io.BytesIO()
    figure.savefig(out, format="svg", facecolor=GROUND)
    return out.getvalue()


def _draw_band(
    axes: Axes, buckets: Sequence[FloatArray], style: dict[str, Any]
) -> list[tuple[FloatArray, FloatArray]]:
    """Draws the band between two bounds, and returns the places and values of both.

    Bounds with other places than the curve have no band on the page, which says so; here they have
    none either.

    Args:
        buckets: Those of the curve, of the lower and of the upper bound.
    """
    place, *others = (each[:, 0] for each in buckets)
    if not all(np.array_equal(place, other) for other in others):
        return []
    least, most = (each[:, 1] for each in buckets[1:])
    least, most = (np.clip(each, -_MOST, _MOST) for each in (least, most))
    where = np.isfinite(least) & np.isfinite(most)
    axes.fill_between(place, least, most, where=where, color=style["color"], alpha=0.2, lw=0)
    return [(place, least), (place, most)]


def _dashed(fits: Iterable[Sequence[str]]) -> str:
    return "dashed: validation" if any(len(runs) > 1 for runs in fits) else ""


def _style(look: int | None) -> dict[str, Any]:
    if look is None:
        return {"color": GREY, "linestyle": "-"}
    dashes, colour = divmod(look, len(COLOURS))
    return {"color": COLOURS[colour], "linestyle": _dashes(dashes)}


def _dashes(number: int) -> Any:
    return _DASHES[number % len(_DASHES)]


def _draw_fits(
    axes: Axes,
    scalars: Scalars,
    want: Want,
    fits: Sequence[Sequence[str]],
    styles: Sequence[dict[str, Any]],
) -> list[tuple[FloatArray, FloatArray]]:
    """Draws the chosen runs of fits, and returns the places and values of their curves."""
    having = set(runs_of(scalars, want))
    lines = [
        (run, style | ({"linestyle": _VALIDATION} if place else {}))
        for style, runs in zip(styles, fits, strict=True)
        for place, run in enumerate(runs)
        if run in having
    ]
    limit, points = buckets_of_each(len(lines)), []
    for run, style in lines:
        counted, _ = kept_buckets(scalars[run, want.tag], want, limit)
        points += _draw(axes, counted, style, raw=bool(want.smooth))
    return points


def _draw(
    axes: Axes, rows: np.ndarray[Any, Any], style: dict[str, Any], *, raw: bool
) -> list[tuple[FloatArray, FloatArray]]:
    """Draws a curve; `raw` adds the values that were smoothed. Returns places and values."""
    place, finite = rows[:, 0], np.isfinite(rows[:, 1])
    mean, smoothed = np.clip(rows[:, 1], -_MOST, _MOST), np.clip(rows[:, 4], -_MOST, _MOST)
    if raw:
        pale = {"color": style["color"], "lw": 0.8, "alpha": 0.35}
        axes.plot(place, np.where(finite, mean, np.nan), **pale)
    axes.plot(place, np.where(finite, smoothed, np.nan), lw=1.3, **style)
    alone = between_gaps(finite)
    axes.plot(place[alone], smoothed[alone], ".", color=style["color"])
    mark(axes, place[rows[:, 5:].any(axis=1)])
    return [(place, smoothed), *([(place, mean)] if raw else [])]


def _name(
    figure: Figure, names: Sequence[str], styles: Sequence[dict[str, Any]], title: str
) -> None:
    """Adds a legend with the runs' names and lines, and a title about what is left out."""
    from matplotlib.lines import Line2D

    legend = figure.legend(
        [Line2D([], [], **style) for style in styles],
        [writable(name) or " " for name in names],
        loc="outside lower left",
        ncols=_COLUMNS,
        fontsize=8,
        frameon=False,
        title=writable(title) or None,
        title_fontsize=8,
        labelcolor=INK,
    )
    legend.get_title().set_color(INK)
    for text in (legend.get_title(), *legend.get_texts()):
        text.set_parse_math(False)  # a name is not a formula
