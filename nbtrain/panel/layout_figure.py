"""Draws the first charts of a logdir's layouts as a picture for the saved notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtrain.logdir.custom_scalars import custom_scalars
from nbtrain.logdir.scalars import Scalars
from nbtrain.panel.board_figure import charts, draw_tag
from nbtrain.panel.figure import INK, writable
from nbtrain.panel.layouts import chart_of
from nbtrain.panel.legend import Legend
from nbtrain.panel.wording import cut

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CHART = 2.4  # inches
_TAGS, _NAME = 5, 24  # tags of a chart that have a dash of their own, characters of one
# As in tags.js, in widths of the line.
_DASHES: tuple[Any, ...] = ("-", (0, (6, 2.5)), (0, (1.2, 1.8)), (0, (6, 1.8, 1.2, 1.8)))
_DASHES += ((0, (11, 2.5)),)


def png(scalars: Scalars, *, x: str = "step", smooth: float = 0.0) -> bytes | None:
    """Draws the first charts that show something; None if there are none."""
    tags = scalars.tags
    layouts = [each for category in custom_scalars(scalars.reader) for each in category.charts]
    shown = [chart for each in layouts if (chart := chart_of(each, tags))["tags"]]
    each_chart = iter(shown)

    def draw(axes: Axes, _title: str, legend: Legend) -> None:
        chart = next(each_chart)
        bounds = {each[edge] for each in chart["series"] or () for edge in ("lower", "upper")}
        named = [tag for tag in chart["tags"] if tag not in bounds]
        for number, tag in enumerate(named):
            dash = _DASHES[number % _TAGS] if len(named) > 1 else None
            draw_tag(scalars, axes, tag, legend, x=x, smooth=smooth, dash=dash)
        for tag in bounds & {*chart["tags"]}:
            draw_tag(scalars, axes, tag, legend, x=x, dash=_DASHES[2])
        if len(named) > 1:
            _tell(axes, named[:_TAGS])

    titles = [chart["title"] for chart in shown]
    return charts(scalars, titles, _CHART, draw, validation="dashed or pale")


def _tell(axes: Axes, tags: list[str]) -> None:
    """Tells the dash of each tag."""
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], color=INK, lw=1.2, linestyle=dash) for dash in _DASHES[: len(tags)]]
    names = [writable(cut(tag, _NAME)) for tag in tags]
    told = axes.legend(lines, names, fontsize=7, frameon=False, labelcolor=INK, handlelength=3)
    for text in told.get_texts():
        text.set_parse_math(False)  # a name is not a formula
