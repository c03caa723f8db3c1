"""The best value of a scalar, and for how long it has not improved."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtrain.core.values.direction import Direction
from nbtrain.recording.best_monitor import WINDOW, BestMonitor, Judged


def look(
    monitor: BestMonitor, tag: str, values: Sequence[float], *, first: int = 10, every: int = 10
) -> None:
    """Hands over values of one tag, at steps 10, 20 and so on."""
    steps = first + every * np.arange(len(values), dtype=np.int64)
    monitor.observe(tag, steps, np.array(values, dtype=np.float64))


LOWEST, HIGHEST = Direction.LOWEST, Direction.HIGHEST


@pytest.mark.parametrize(("direction", "step", "value"), [(LOWEST, 20, 1.0), (HIGHEST, 10, 3.0)])
def test_the_direction_tells_which_value_is_better(
    direction: Direction, step: int, value: float
) -> None:
    monitor = BestMonitor("val_loss", direction)
    look(monitor, "val_loss", [3.0, 1.0, 2.0])
    assert monitor.better == Judged(step, value)


def test_a_validation_scalar_is_found_under_the_name_of_a_fit() -> None:
    monitor = BestMonitor("val_loss", LOWEST)
    look(monitor, "epoch_val_loss", [3.0, 2.0])
    assert monitor.better == Judged(20, 2.0)
    assert monitor.is_about(["loss", "epoch_val_loss"])
    assert not monitor.is_about(["loss", "val_loss_2"])


def test_a_value_under_both_names_is_judged_once() -> None:
    monitor = BestMonitor("val_loss", LOWEST, patience=2)
    for step in (10, 20):
        look(monitor, "val_loss", [1.0], first=step)
        look(monitor, "epoch_val_loss", [1.0], first=step)
    assert not monitor.is_over
    look(monitor, "val_loss", [1.0], first=30)
    assert monitor.is_over


def test_a_scalar_of_each_step_is_judged_by_means() -> None:
    monitor = BestMonitor("loss", LOWEST, patience=2)
    look(monitor, "loss", [0.0, *[2.0] * (WINDOW - 2)], every=1, first=1)
    assert monitor.better is None, "one good batch says little"
    look(monitor, "loss", [2.0], first=WINDOW)
    assert monitor.better == Judged(WINDOW, 2.0 * (WINDOW - 1) / WINDOW)
    look(monitor, "loss", [3.0] * WINDOW, every=1, first=WINDOW + 1)
    assert not monitor.is_over
    look(monitor, "loss", [3.0] * WINDOW, every=1, first=2 * WINDOW + 1)
    assert monitor.is_over


def test_a_value_that_is_not_finite_is_never_the_best() -> None:
    monitor = BestMonitor("val_accuracy", HIGHEST, patience=3)
    look(monitor, "val_accuracy", [math.nan, math.inf])
    assert monitor.better is None
    look(monitor, "val_accuracy", [0.5], first=30)
    assert monitor.better == Judged(30, 0.5)
    look(monitor, "val_accuracy", [math.nan] * 3, first=40)
    assert monitor.better == Judged(30, 0.5)
    assert monitor.is_over


def test_going_back_counts_again_and_keeps_the_best_that_was_saved() -> None:
    monitor = BestMonitor("val_loss", LOWEST, patience=2)
    look(monitor, "val_loss", [2.0])
    monitor.keep()
    look(monitor, "val_loss", [1.0, 3.0, 3.0], first=20)
    assert monitor.is_over
    monitor.rewind()
    assert not monitor.is_over
    assert monitor.better is None, "its state was not saved"
    look(monitor, "val_loss", [1.5], first=20)
    assert monitor.better == Judged(20, 1.5)
    assert monitor.best == Judged(10, 2.0)


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1), st.integers(1, 5))
def test_the_best_is_the_lowest_finite_value_and_the_end_comes_after_its_patience(
    values: list[float], patience: int
) -> None:
    monitor = BestMonitor("val_loss", LOWEST, patience)
    for number, value in enumerate(values):
        look(monitor, "val_loss", [value], first=number)
        seen = values[: number + 1]
        finite = [each for each in seen if math.isfinite(each)]
        best = monitor.better
        assert (best and best.value) == min(finite, default=None)
        since = number - seen.index(best.value) if best is not None else number + 1
        assert monitor.is_over == (since >= patience)


def test_a_scalar_that_never_comes_is_missed_once_others_have_come_often() -> None:
    monitor = BestMonitor("val_los", LOWEST)
    assert monitor.missed(at_end=True) is None, "nothing was recorded"
    look(monitor, "loss", [1.0] * 999)
    assert monitor.missed() is None
    assert monitor.missed(at_end=True) == "'loss'"
    look(monitor, "val_loss", [1.0])
    assert monitor.missed() == "'loss', 'val_loss'"


@pytest.mark.parametrize(
    ("entry", "best"),
    [
        ({"tag": "val_loss", "judged": 7, "value": 0.5}, Judged(7, 0.5)),
        ({"tag": "val_accuracy", "judged": 7, "value": 0.5}, None),
        ({"tag": "val_loss", "judged": "7", "value": 0.5}, None),
        ({"tag": "val_loss", "judged": 7}, None),
    ],
)
def test_the_best_of_an_earlier_start_is_read_from_its_line(
    entry: dict[str, object], best: Judged | None
) -> None:
    monitor = BestMonitor("val_loss", LOWEST)
    monitor.recall(entry)
    assert monitor.best == best
