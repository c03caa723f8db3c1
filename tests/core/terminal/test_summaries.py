"""Curves in few numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nbtrain.core.errors import UnknownTagError
from nbtrain.recording.store import ScalarStore
from nbtrain.terminal.summaries import MOST_TAGS, summaries, summary


def store(*values: float, tag: str = "loss") -> ScalarStore:
    """A curve with a value at each step from 1."""
    made = ScalarStore()
    steps = np.arange(1, len(values) + 1)
    made.extend(tag, steps, steps.astype(float), np.array(values))
    return made


def test_a_curve_has_its_ends_its_extremes_and_points_between() -> None:
    told = summary(store(5.0, 1.0, 9.0, 2.0, 3.0)["loss"], points=3)
    assert (told["count"], told["first"], told["last"]) == (5, [1, 5.0], [5, 3.0])
    assert (told["min"], told["max"]) == ([2, 1.0], [3, 9.0])
    assert told["points"] == [[1, 5.0], [3, 9.0], [5, 3.0]]


def test_abandoned_points_are_only_counted() -> None:
    curve = store(5.0, 4.0, 0.0)
    curve.open_segment(2)
    told = summary(curve["loss"], points=9)
    assert (told["count"], told["abandoned"], told["min"]) == (2, 1, [2, 4.0])


def test_values_that_are_not_finite_are_no_extremes() -> None:
    told = summary(store(math.nan, 2.0, math.inf)["loss"], points=2)
    assert (told["not_finite"], told["min"], told["max"]) == (2, [2, 2.0], [2, 2.0])
    assert "min" not in summary(store(math.nan)["loss"], points=2)


def test_a_summary_may_begin_at_a_later_step() -> None:
    told = summary(store(9.0, 2.0, 3.0)["loss"], points=2, from_step=2)
    assert (told["count"], told["max"]) == (2, [3, 3.0])
    assert summary(store(9.0)["loss"], points=2, from_step=2)["count"] == 0


def test_many_tags_are_named_and_not_summarized() -> None:
    many = store(1.0, tag="0")
    for number in range(1, MOST_TAGS + 2):
        many.extend(str(number), np.array([1]), np.array([1.0]), np.array([1.0]))
    told = summaries(many, (), points=2, from_step=0)
    assert (len(told["curves"]), told["more_tags"]) == (MOST_TAGS, ["50", "51"])
    assert list(summaries(many, ["51"], points=2, from_step=0)["curves"]) == ["51"]
    with pytest.raises(UnknownTagError, match="No scalar has the tag 'none'"):
        summaries(many, ["none"], points=2, from_step=0)
