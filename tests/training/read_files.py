"""Event files with every kind of record."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tests.event_files import (
    Row,
    simple,
    tensor,
)

v1 = tf.compat.v1


TYPES = (np.float32, np.float64, np.int32, np.int64, np.float16, np.uint8)


def same(found: dict[str, list[Row]], wanted: dict[str, list[Row]]) -> bool:
    """Returns whether they are equal; NaN equals NaN."""
    return repr(sorted(found.items())) == repr(sorted(wanted.items()))


tags = st.sampled_from(["loss", "acc", "a/b", "train/long name of a tag", "ü", ""])


steps = st.one_of(st.integers(0, 300), st.integers(-(2**63), 2**63 - 1))


numbers = st.floats(width=32)


@st.composite
def scalar_events(draw: st.DrawFn) -> Any:
    tag, step, number = draw(tags), draw(steps), draw(numbers)
    wall_time = draw(st.floats(allow_nan=False))
    if draw(st.booleans()):
        return simple(tag, step, number, wall_time)
    with np.errstate(all="ignore"):
        kind = draw(st.sampled_from(TYPES))
        whole = np.issubdtype(kind, np.integer)
        typed: Any = kind(draw(st.integers(0, 200)) if whole else number)  # type: ignore[arg-type]
    content = draw(st.booleans())
    return tensor(tag, step, typed, wall_time, content=content, bare=draw(st.booleans()))


@st.composite
def other_events(draw: st.DrawFn) -> Any:
    step = draw(steps)
    kinds = [
        v1.Event(step=step, file_version="brain.Event:2"),
        v1.Event(step=step, graph_def=b"\x00" * draw(st.integers(0, 5000))),
        v1.Event(step=step, log_message={"message": "words"}),
        v1.Event(),
        v1.Event(step=step, summary=v1.Summary()),
    ]
    histogram = v1.Summary.Value(tag="h", histo={"num": 3, "bucket": [1.0, 2.0]})
    mixed = simple("mixed", step, draw(numbers))
    mixed.summary.value.append(histogram)
    several = simple("one", step, draw(numbers))
    several.summary.value.append(simple("two", step, draw(numbers)).summary.value[0])
    return draw(st.sampled_from([*kinds, mixed, several]))


FILES = settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
