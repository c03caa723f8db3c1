"""Profiles of a step: the time of each layer and line."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import pytest
import tensorflow as tf

from nbtrain.inner.tensorflow import XSpace, spans_in
from nbtrain.run.why.profile import Profile, Spent
from tests.training.faulty import line_of


def profiled(step: Callable[[], object], folder: Path) -> Profile:
    """The profile of a step."""
    profile = Profile(folder)
    with contextlib.closing(profile):
        for _ in range(profile.count):
            with profile:
                step()
    profile.read()
    return profile


class Step:
    """A step with a layer, a loop in the graph, and code of its own."""

    def __init__(self, **options: Any) -> None:
        self.layer = keras.layers.Dense(4, name="wide")
        self.layer.build((None, 4))
        self.weight = tf.Variable(tf.eye(4))
        self.call = tf.function(self.trained, **options)

    def mixed(self, x: tf.Tensor) -> tf.Tensor:
        return tf.matmul(x, self.weight)

    def trained(self) -> None:
        with tf.GradientTape() as tape:
            x = self.layer(tf.ones([8, 4]))
            for _ in tf.range(3):
                x = self.mixed(x)
            loss = tf.reduce_sum(tf.sin(x))
        self.weight.assign_sub(1e-3 * tape.gradient(loss, self.weight))


def of_line(profile: Profile, text: str) -> Spent:
    """The part of a line of `Step`."""
    line = line_of(Step, text)
    (part,) = (part for part in profile.parts if part.place and part.place.line == line)
    return part


def test_the_time_is_that_of_layers_and_lines(tmp_path: Path) -> None:
    profile = profiled(Step().call, tmp_path)
    (layer,) = (part for part in profile.parts if part.layer)
    assert (layer.name, layer.layer) == ("layer wide", "wide")
    in_loop = of_line(profile, "return tf.matmul")
    assert in_loop.name.startswith("mixed (test_profile.py, line ")
    assert "MatMul" in in_loop.kinds
    assert in_loop.fields["code"] == "return tf.matmul(x, self.weight)"
    assert sum(part.share for part in profile.parts) == pytest.approx(1)
    assert [part.ms for part in profile.parts] == sorted(
        (part.ms for part in profile.parts), reverse=True
    )
    assert 0 < profile.busy <= 1


def test_a_derivative_is_part_of_the_line_that_it_is_of(tmp_path: Path) -> None:
    profile = profiled(Step().call, tmp_path)
    assert "Cos" in of_line(profile, "tf.sin(x)").kinds


def test_the_derivative_of_a_loop_is_part_of_the_line_within_it(tmp_path: Path) -> None:
    profile = profiled(Step().call, tmp_path)
    in_loop = of_line(profile, "return tf.matmul")
    assert not [part for part in profile.parts if part is not in_loop and "MatMul" in part.kinds]


def test_time_in_python_is_that_of_python(tmp_path: Path) -> None:
    step = Step()

    def slow() -> None:
        step.call()
        time.sleep(0.1)

    (cause,) = profiled(slow, tmp_path).causes()
    assert "of the time of a step is that of Python, outside of its tf.functions" in cause.text


def test_the_trace_stays_where_tensorboard_looks_for_it(tmp_path: Path) -> None:
    trace = profiled(Step().call, tmp_path).trace
    assert trace is not None
    assert trace.parent.parent == tmp_path / "plugins" / "profile"


def test_the_function_of_the_step_keeps_its_traces(tmp_path: Path) -> None:
    step = Step()
    step.call()
    profiled(step.call, tmp_path)
    assert step.call.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("within", [False, True])
def test_a_step_that_xla_compiles_has_no_parts(tmp_path: Path, *, within: bool) -> None:
    step = Step(jit_compile=True)
    profile = profiled(tf.function(lambda: step.call()) if within else step.call, tmp_path)
    assert profile.trace is not None
    assert not profile.parts
    assert not [*profile.told(), *profile.causes()]


def test_another_profiler_is_left_alone_and_said(tmp_path: Path) -> None:
    tf.profiler.experimental.start(str(tmp_path / "theirs"))
    try:
        profile = profiled(Step().call, tmp_path / "ours")
    finally:
        tf.profiler.experimental.stop()
    assert profile.fields == {"error": "another profiler is running"}
    assert [*(tmp_path / "theirs").rglob("*.xplane.pb")]


def test_the_operations_of_a_gpu_are_read_from_its_streams(tmp_path: Path) -> None:
    space = XSpace()
    host = space.planes.add(name="/host:CPU")
    host.event_metadata[1].name = "a/MatMul:MatMul"
    host.lines.add().events.add(metadata_id=1, duration_ps=5)
    device = space.planes.add(name="/device:GPU:0")
    device.event_metadata[1].name = "ampere_sgemm_128x64"
    device.stat_metadata[7].name, device.stat_metadata[8].name = "tf_op", "a/Sum:Sum"
    stream = device.lines.add(id=3, timestamp_ns=2)
    first = stream.events.add(metadata_id=1, offset_ps=10, duration_ps=30)
    first.stats.add(metadata_id=7, str_value="a/MatMul:MatMul")
    second = stream.events.add(metadata_id=1, offset_ps=50, duration_ps=1)
    second.stats.add(metadata_id=7, ref_value=8)
    stream.events.add(metadata_id=1, offset_ps=60, duration_ps=9)  # of no operation
    (tmp_path / "trace").write_bytes(space.SerializeToString())
    assert [*spans_in(tmp_path / "trace")] == [
        ("a/MatMul", "MatMul", 3, 2010, 2040),
        ("a/Sum", "Sum", 3, 2050, 2051),
    ]
