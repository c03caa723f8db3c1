"""The speed that the panel shows."""

from __future__ import annotations

import pytest

from nbtrain.pace import WINDOW_SECS, Pace


def paced(*marks: tuple[int, float]) -> Pace:
    """A pace that was told of these (step, seconds)."""
    pace = Pace()
    for step, now in marks:
        pace.update(step, now)
    return pace


def test_there_is_no_speed_before_two_moments_are_known() -> None:
    assert paced().steps_per_s is None
    assert paced((10, 1.0)).steps_per_s is None


def test_two_moments_that_are_one_give_no_speed() -> None:
    assert paced((10, 1.0), (20, 1.0)).steps_per_s is None


def test_the_speed_is_steps_over_seconds() -> None:
    assert paced((0, 0.0), (10, 1.0), (30, 2.0)).steps_per_s == pytest.approx(15.0)


def test_the_speed_is_that_of_the_last_seconds() -> None:
    slow = [(step, float(step)) for step in range(100)]
    fast = [(99 + 10 * k, 99.0 + k) for k in range(1, int(WINDOW_SECS) + 2)]
    assert paced(*slow, *fast).steps_per_s == pytest.approx(10.0)


def test_steps_slower_than_the_window_still_have_a_speed() -> None:
    assert paced((0, 0.0), (1, 60.0), (2, 120.0)).steps_per_s == pytest.approx(1 / 60)


def test_a_restore_to_an_earlier_step_starts_it_anew() -> None:
    pace = paced((0, 0.0), (100, 1.0), (50, 2.0))
    assert pace.steps_per_s is None
    pace.update(60, 3.0)
    assert pace.steps_per_s == pytest.approx(10.0)


def test_a_pause_does_not_count_as_slow_training() -> None:
    pace = paced((0, 0.0), (10, 1.0))
    pace.reset()
    assert pace.steps_per_s is None
    pace.update(10, 1000.0)
    pace.update(20, 1001.0)
    assert pace.steps_per_s == pytest.approx(10.0)


def test_a_long_life_keeps_a_few_seconds_of_marks() -> None:
    pace = paced(*[(step, step / 10) for step in range(10_000)])
    assert len(pace._marks) <= 10 * WINDOW_SECS + 2
    assert pace.steps_per_s == pytest.approx(10.0)
