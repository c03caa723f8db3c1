"""When periodic actions are due, and that they never come in a burst."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtrain.core.cadence import Every
from nbtrain.core.errors import ArgumentError

# Differences between two boundaries: steps, and whole seconds.
PASSING = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=60)
MAYBE = st.none() | st.integers(1, 20)


def test_every_n_steps() -> None:
    due = Every(steps=3)
    due.start(step=0, now=0.0)
    assert [step for step in range(1, 11) if due(step, 0.0)] == [3, 6, 9]


def test_every_s_seconds() -> None:
    due = Every(secs=10.0)
    due.start(step=0, now=100.0)
    assert [now for now in range(100, 135) if due(1, float(now))] == [110, 120, 130]


def test_an_occasion_by_seconds_leaves_those_by_steps_where_they_are() -> None:
    due = Every(steps=100, secs=10.0)
    due.start(step=0, now=0.0)
    assert not due(99, 9.9)
    assert due(99, 10.0)
    assert due(100, 10.1)
    assert not due(101, 20.0), "the seconds count from the last occasion"
    assert due(102, 20.1)


@pytest.mark.parametrize("life", [1, 7, 40, 100, 1000])
def test_however_often_it_is_started_it_is_due_at_the_same_steps(life: int) -> None:
    due, found = Every(steps=100), []
    for begin in range(0, 1000, life):
        due.start(step=begin, now=0.0)
        found += [step for step in range(begin + 1, begin + life + 1) if due(step, 0.0)]
    assert found == [*range(100, 1001, 100)]


def test_steps_that_are_passed_by_are_one_occasion() -> None:
    due = Every(steps=10)
    due.start(step=0, now=0.0)
    assert [step for step in range(0, 50, 16) if due(step, 0.0)] == [16, 32, 48]
    assert not due(49, 0.0)


def test_a_long_pause_is_followed_by_one_occasion() -> None:
    due = Every(secs=1.0)
    due.start(step=0, now=0.0)
    assert due(1, 3600.0)
    assert not due(2, 3600.5)
    assert due(3, 3601.0)


def test_without_a_cadence_it_is_never_due() -> None:
    for due in (Every(), Every(secs=0), Every(secs=None, steps=None)):
        due.start(step=0, now=0.0)
        assert not due(10**9, 1e12)


def test_before_the_start_it_is_never_due() -> None:
    assert not Every(steps=1, secs=1.0)(10**9, 1e12)


def test_after_a_restore_the_steps_that_come_again_are_due_again() -> None:
    due = Every(steps=10)
    due.start(step=100, now=0.0)
    due.start(step=23, now=0.0)
    assert not due(29, 0.0)
    assert due(30, 0.0)


@given(steps=MAYBE, secs=MAYBE, passing=PASSING)
def test_an_occasion_is_due_exactly_when_enough_has_passed_since_the_last_one(
    steps: int | None, secs: int | None, passing: list[tuple[int, int]]
) -> None:
    due = Every(steps=steps, secs=secs)
    step = now = last_step = last_now = 0
    due.start(step, float(now))
    for more_steps, more_secs in passing:
        step, now = step + more_steps, now + more_secs
        enough_steps = steps is not None and step // steps > last_step // steps
        enough_time = secs is not None and now - last_now >= secs
        assert due(step, float(now)) == (enough_steps or enough_time)
        if enough_steps or enough_time:
            last_step, last_now = step, now
            assert not due(step, float(now)), "a burst"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"steps": 0}, r"steps=0: give a whole number of at least 1, or None"),
        ({"steps": -1}, r"steps=-1"),
        ({"steps": 2.5}, r"steps=2\.5"),
        ({"steps": True}, r"steps=True"),
        ({"steps": float("inf")}, r"steps=inf"),
        ({"steps": float("nan")}, r"steps=nan"),
        ({"steps": "3"}, r"steps='3': give a whole number"),
        ({"steps": np.array([1, 2])}, r"steps=array\(\[1, 2\]\): give a whole number"),
        ({"secs": -1.0}, r"secs=-1\.0: give seconds above 0, or None for never"),
        ({"secs": float("nan")}, r"secs=nan"),
    ],
)
def test_a_value_out_of_range_raises(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Every(**given)
