"""Layouts of custom scalars: as TensorBoard's plugin merges them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import tensorboardX
from google.protobuf import json_format
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.context import RequestContext
from tensorboard.plugins.base_plugin import TBContext
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.custom_scalar.custom_scalars_plugin import CustomScalarsPlugin

from nbtrain.logdir.custom_scalars import Category, Chart, Margin, custom_scalars
from tests.event_files import NAME, read, simple, written
from tests.other_events import event, tensor2

TAG = "custom_scalars__config__"


def layout(proto: Any) -> Any:
    return event(0, tensor2(TAG, "custom_scalars", np.array(proto.SerializeToString(), object)))


def theirs(logdir: Path) -> tuple[Category, ...]:
    """Returns the layout that TensorBoard's plugin merges."""
    multiplexer = EventMultiplexer().AddRunsFromDirectory(str(logdir)).Reload()
    provider = MultiplexerDataProvider(multiplexer, str(logdir))
    plugin = CustomScalarsPlugin(TBContext(logdir=str(logdir), data_provider=provider))
    merged = layout_pb2.Layout()
    said = plugin.layout_impl(RequestContext(), "")
    json_format.Parse(said if isinstance(said, str) else json.dumps(said), merged)
    return tuple(
        Category(
            category.title,
            tuple(
                Chart(
                    chart.title,
                    tuple(chart.multiline.tag),
                    tuple(Margin(m.value, m.lower, m.upper) for m in chart.margin.series),
                )
                for chart in category.chart
            ),
            category.closed,
        )
        for category in merged.category
    )


words = st.sampled_from(["loss", "acc.*", "a/b", "<b>"])
charts = st.one_of(
    st.builds(
        lambda title, tags: layout_pb2.Chart(title=title, multiline={"tag": tags}),
        words,
        st.lists(words, min_size=1, max_size=2),
    ),
    st.builds(
        lambda title, tag: layout_pb2.Chart(
            title=title, margin={"series": [{"value": tag, "lower": "l", "upper": "u"}]}
        ),
        words,
        words,
    ),
)


@st.composite
def layouts(draw: st.DrawFn) -> Any:
    titles = draw(st.lists(words, unique=True, max_size=3))
    several = st.lists(charts, max_size=3, unique_by=lambda chart: chart.SerializeToString())
    categories = [
        layout_pb2.Category(title=title, chart=draw(several), closed=draw(st.booleans()))
        for title in titles
    ]
    return layout_pb2.Layout(category=categories)


@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(protos=st.lists(layouts(), min_size=1, max_size=2))  # of a third one it loses charts
def test_the_layouts_of_two_runs_are_merged_as_tensorboard_merges_them(
    protos: list[Any], tmp_path_factory: Any
) -> None:
    folder = tmp_path_factory.mktemp("logs")
    for number, proto in enumerate(protos):
        written(folder / f"run{number}" / NAME, [layout(proto), simple("loss", 1, 1.0)])
    assert custom_scalars(read(folder)) == theirs(folder)


def test_charts_of_a_third_run_are_merged_into_a_category_that_the_second_began(
    tmp_path: Path,
) -> None:
    for run, title in (("a", "first"), ("b", "second"), ("c", "second")):
        proto = layout_pb2.Layout(category=[{"title": title, "chart": [{"title": run}]}])
        written(tmp_path / run / NAME, [layout(proto)])
    assert custom_scalars(read(tmp_path)) == (
        Category("first", (Chart("a"),)),
        Category("second", (Chart("b"), Chart("c"))),
    )


def test_values_of_tensorboardx_are_read(tmp_path: Path) -> None:
    with tensorboardX.SummaryWriter(str(tmp_path)) as writer:
        writer.add_custom_scalars(
            {"A": {"two": ["Multiline", ["a", "b.*"]], "one": ["Margin", ["v", "l", "u"]]}}
        )
    assert custom_scalars(read(tmp_path)) == theirs(tmp_path)
    (category,) = custom_scalars(read(tmp_path))
    assert category.charts[0] == Chart("two", tags=("a", "b.*"))
    assert category.charts[1] == Chart("one", margins=(Margin("v", "l", "u"),))


def test_the_latest_layout_of_a_run_counts(tmp_path: Path) -> None:
    protos = [layout_pb2.Layout(category=[{"title": title}]) for title in ("old", "new")]
    written(tmp_path / NAME, [layout(proto) for proto in protos])
    assert custom_scalars(read(tmp_path)) == (Category("new", ()),) == theirs(tmp_path)


def test_a_layout_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    odd = [b"\xff", np.ones(3), [b"a", b"b"]]
    for number, data in enumerate(odd):
        written(tmp_path / f"a{number}" / NAME, [event(0, tensor2(TAG, "custom_scalars", data))])
    gone = written(tmp_path / "gone" / NAME, [layout(layout_pb2.Layout(category=[{"title": "x"}]))])
    proto = layout_pb2.Layout(category=[{"title": "whole"}])
    written(tmp_path / "z" / NAME, [layout(proto)])
    reader = read(tmp_path)
    gone.unlink()
    assert custom_scalars(reader) == (Category("whole", ()),)


def test_without_layouts_there_are_no_categories(tmp_path: Path) -> None:
    written(tmp_path / NAME, [simple("loss", 1, 1.0)])
    assert custom_scalars(read(tmp_path)) == ()
