"""Layouts of custom scalars: which tags are shown together in one chart.

The format is that of TensorBoard's Custom Scalars plugin
(tensorboard/plugins/custom_scalar/layout.proto).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import DecodeError

from nbtrain.logdir.history import summary_value
from nbtrain.logdir.reader import Reader
from nbtrain.tfevents.values import strings

LAYOUT = "custom_scalars__config__"


@dataclass(frozen=True, slots=True)
class Margin:
    """A value with a lower and an upper bound.

    Attributes:
        value: The tag of the value.
        lower: The tag of the lower bound.
        upper: The tag of the upper bound.
    """

    value: str
    lower: str
    upper: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart of several tags; either `tags` or `margins` is not empty.

    Attributes:
        title: The title.
        tags: Regular expressions: a tag is shown if its beginning matches one of them.
        margins: Values, each shown with its margin.
    """

    title: str
    tags: tuple[str, ...] = ()
    margins: tuple[Margin, ...] = ()


@dataclass(frozen=True, slots=True)
class Category:
    """A group of charts.

    Attributes:
        title: The title.
        charts: The charts.
        closed: Whether it is collapsed at first.
    """

    title: str
    charts: tuple[Chart, ...]
    closed: bool = False


def custom_scalars(reader: Reader) -> tuple[Category, ...]:
    """Merges the layouts of all runs, as TensorBoard does.

    Categories with the same title become one, in the order of the runs' names. Repeated charts, and
    layouts that cannot be read, are left out.
    """
    merged: dict[str, Category] = {}
    for run in reader.runs:
        for category in _layout(reader, run):
            known = merged.get(category.title)
            if known is None:
                merged[category.title] = category
            else:
                charts = dict.fromkeys((*known.charts, *category.charts))
                merged[category.title] = Category(known.title, tuple(charts), known.closed)
    return tuple(merged.values())


def _layout(reader: Reader, run: str) -> Iterator[Category]:
    """Yields the categories of a run's latest layout."""
    from tensorboard.plugins.custom_scalar.layout_pb2 import Layout

    if LAYOUT not in reader.tags(run, "custom_scalars"):
        return
    try:
        value = summary_value(reader.places(run, LAYOUT, "custom_scalars"), -1, LAYOUT)
        layout = Layout.FromString(strings(value).item())
    except (OSError, KeyError, ValueError, DecodeError):
        return
    for category in layout.category:
        yield Category(category.title, tuple(map(_chart, category.chart)), category.closed)


def _chart(chart: Any) -> Chart:
    margins = (Margin(each.value, each.lower, each.upper) for each in chart.margin.series)
    return Chart(chart.title, tuple(chart.multiline.tag), tuple(margins))
