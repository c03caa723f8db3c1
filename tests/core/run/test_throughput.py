"""The speed that the panel shows."""

from __future__ import annotations

import pytest

from nbtrain.run.beside.throughput import WINDOW_SECS, Throughput


def paced(*marks: tuple[int, float]) -> Throughput:
    """Returns a throughput with these (step, seconds)."""
    pace = Throughput()
    for step, now in marks:
        pace.update(step, now)
    return pace


def test_there_is_no_speed_before_two_steps() -> None:
    assert paced().steps_per_s is None
    assert paced((0, 1.0)).steps_per_s is None
    assert paced((0, 1.0), (0, 2.0), (0, 3.0)).steps_per_s is None
    assert paced((0, 1.0), (1, 2.0)).steps_per_s is None


def test_equal_times_give_no_speed() -> None:
    assert paced((0, 0.0), (10, 1.0), (20, 1.0)).steps_per_s is None


def test_the_speed_is_steps_per_second() -> None:
    assert paced((0, 0.0), (10, 1.0), (30, 2.0), (50, 3.0)).steps_per_s == pytest.approx(20.0)


def test_a_slow_first_step_does_not_count() -> None:
    assert paced((0, 0.0), (1, 60.0), (11, 61.0)).steps_per_s == pytest.approx(10.0)


def test_the_speed_covers_the_last_seconds() -> None:
    slow = [(step, float(step)) for step in range(100)]
    fast = [(99 + 10 * k, 99.0 + k) for k in range(1, int(WINDOW_SECS) + 2)]
    assert paced(*slow, *fast).steps_per_s == pytest.approx(10.0)


def test_steps_slower_than_the_window_still_have_a_speed() -> None:
    assert paced((0, 0.0), (1, 60.0), (2, 120.0)).steps_per_s == pytest.approx(1 / 60)


def test_the_speed_of_long_steps_is_steady() -> None:
    pace = paced((0, 0.0), (1, 3.0), (2, 6.0))
    for tenth in range(1, 90):
        step = 2 + tenth // 30
        pace.update(step, 6.0 + tenth / 10)
        assert pace.steps_per_s == pytest.approx(1 / 3)


def test_the_speed_falls_during_a_long_step() -> None:
    pace = paced((0, 0.0), (10, 1.0), (20, 2.0))
    pace.update(20, 2.9)
    assert pace.steps_per_s == pytest.approx(10.0)
    pace.update(20, 62.0)
    assert pace.steps_per_s == pytest.approx(1 / 60)
    pace.update(21, 62.1)
    pace.update(22, 62.2)
    assert pace.steps_per_s == pytest.approx(2 / 60.2)


def test_the_time_left_is_steady_over_lines_between_epochs() -> None:
    pace = Throughput()
    left: list[float] = []
    for tenth in range(1200):  # epochs of 20 steps in 2 s, with 3 s after each
        epoch, within = divmod(tenth, 50)
        pace.update(20 * epoch + min(within, 20), tenth / 10)
        if tenth > 300:
            left.append(pace.secs_for(100) or 0.0)
    assert min(left) > 20
    assert max(left) < 30


def test_no_time_left_is_known_after_a_pause() -> None:
    pace = paced((0, 0.0), (1, 1.0), (2, 2.0))
    assert pace.secs_for(10) == pytest.approx(10.0)
    pace.reset()
    assert pace.secs_for(10) is None


def test_a_restore_to_an_earlier_step_restarts_the_speed() -> None:
    pace = paced((0, 0.0), (50, 1.0), (100, 2.0), (50, 3.0))
    assert pace.steps_per_s is None
    pace.update(60, 4.0)
    pace.update(70, 5.0)
    assert pace.steps_per_s == pytest.approx(10.0)


def test_a_pause_does_not_count_as_slow_training() -> None:
    pace = paced((0, 0.0), (10, 1.0), (20, 2.0))
    pace.reset()
    assert pace.steps_per_s is None
    for step, now in ((20, 1000.0), (25, 1000.5), (30, 1001.0)):
        pace.update(step, now)
    assert pace.steps_per_s == pytest.approx(10.0)


def test_a_long_run_keeps_a_few_seconds_of_marks() -> None:
    pace = paced(*[(step, step / 10) for step in range(10_000)])
    assert len(pace._marks) <= 10 * WINDOW_SECS + 2
    assert pace.steps_per_s == pytest.approx(10.0)
