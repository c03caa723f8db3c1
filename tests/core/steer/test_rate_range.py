"""The range test of a learning rate: which rate is suggested, and when none is."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nbtrain.core.errors import ArgumentError
from nbtrain.core.states import Phase, Status
from nbtrain.core.values.rate_range import RateRange
from nbtrain.steer.learning_rate import range_test


def swept(loss: Callable[[float], float]) -> tuple[RateRange, int]:
    """A test whose loss depends on the rate of the step before alone, and its steps."""
    steps = 100
    sweep = RateRange(1e-6, 10.0, steps)
    for step in range(steps):
        if sweep.add(step, loss(sweep.rate(step - 1) if step else 0.0)):
            return sweep, step + 1
    return sweep, steps


def test_the_rates_grow_by_equal_factors() -> None:
    sweep = RateRange(1e-6, 1.0, 13)
    rates = [sweep.rate(step) for step in range(13)]
    assert (rates[0], rates[-1]) == pytest.approx((1e-6, 1.0))
    assert [later / rate for rate, later in itertools.pairwise(rates)] == (
        pytest.approx([math.sqrt(10)] * 12)
    )
    assert sweep.rate(99) == pytest.approx(1.0)


def test_the_rate_is_suggested_at_which_the_loss_falls_fastest() -> None:
    def loss(rate: float) -> float:  # falls around 1e-2, and rises from 1 on
        return 2 - math.tanh(3 * math.log10(rate / 1e-2)) + 1e3 * max(0.0, rate - 1) if rate else 3

    sweep, steps = swept(loss)
    assert sweep.suggestion is not None
    assert 5e-3 < sweep.suggestion < 5e-2
    assert steps < 100, "a loss that has risen far ends the test"
    said = sweep.text("learning_rate", "loss")
    assert "where loss fell fastest" in said
    assert said.startswith(f"suggested learning_rate {sweep.suggestion:.3g}")


@pytest.mark.parametrize("size", [1, 8, 20])
def test_steps_that_are_executed_together_hardly_change_the_suggestion(size: int) -> None:
    sweep, rates = RateRange(1e-6, 1.0, 200), [1e-6]
    for end in range(size - 1, 200 + size, size):
        loss = 1 - math.tanh(2 * math.log10(rates[-2] / 1e-2)) if end >= size else 2.0
        if sweep.add(end, loss):
            break
        rates.append(sweep.rate(end + 1))
    assert [rate for rate, _ in sweep.curve] == rates[: len(sweep.curve)]
    assert sweep.suggestion is not None
    assert 2e-3 < sweep.suggestion < 5e-2


def test_too_few_losses_suggest_nothing_and_say_how_to_get_more() -> None:
    sweep = RateRange(1e-6, 1.0, 200)
    assert [sweep.add(end, 3.0 - end / 100) for end in (63, 127)] == [False, True]
    assert sweep.suggestion is None
    assert sweep.text("learning_rate", "loss") == (
        "no suggestion: 200 steps have about 3 losses, because 64 are executed at once, and a "
        "range test takes at least 10; give steps=640 or more, or a smaller steps_per_execution "
        "to model.compile"
    )
    enough = RateRange(1e-6, 1.0, 640)
    assert [enough.add(end, 1.0) for end in range(63, 640, 64)] == [False] * 9 + [True]
    assert "losses" not in enough.text("learning_rate", "loss")


@pytest.mark.parametrize("loss", [lambda _rate: 1.0, lambda rate: 1.0 + rate])
def test_nothing_is_suggested_if_the_loss_does_not_fall(loss: Callable[[float], float]) -> None:
    sweep, _ = swept(loss)
    assert sweep.suggestion is None
    assert sweep.text("rate", "loss").startswith("no suggestion: loss did not fall for rate 1e-06")


def noisy(fall: float, seed: int) -> RateRange:
    """A test of 200 steps whose loss falls around a rate of 1e-2; its batches differ by a tenth."""
    draws = np.random.default_rng(seed)
    sweep = RateRange(1e-6, 1.0, 200)
    for step in range(200):
        rate = sweep.rate(step - 1) if step else 1e-9
        loss = 0.8 - fall * (1 + math.tanh(2 * math.log10(rate / 1e-2))) / 2
        assert sweep.add(step, loss + 0.1 * draws.normal()) == (step == 199)
    return sweep


@pytest.mark.parametrize("seed", range(20))
def test_batches_that_differ_do_not_decide_which_rate_is_suggested(seed: int) -> None:
    suggestion = noisy(0.5, seed).suggestion
    assert suggestion is not None
    assert 1e-3 < suggestion < 1e-1


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_suggested_if_the_batches_differ_more_than_the_loss_falls(seed: int) -> None:
    assert noisy(0.0, seed).suggestion is None


def test_a_loss_that_is_no_number_ends_the_test_and_is_left_out() -> None:
    sweep, steps = swept(lambda rate: math.nan if rate > 1e-3 else 1 - rate)
    assert steps < 100
    assert all(math.isfinite(loss) for _, loss in sweep.curve)


def test_a_test_that_ends_at_once_suggests_nothing() -> None:
    sweep = RateRange(1e-6, 1.0, 10)
    assert sweep.add(0, math.inf)
    assert (sweep.suggestion, sweep.curve) == (None, ())
    assert "did not fall for rate 1e-06 to 1e-06" in sweep.text("rate", "loss")


class Counted(list[float]):
    """Losses that count how many of them are looked at in slices."""

    looked_at = 0

    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        if isinstance(at, slice):
            self.looked_at += len(found)
        return found


def test_a_loss_costs_the_same_at_each_step_of_a_long_test() -> None:
    sweep = RateRange(1e-6, 1.0, 2000)
    losses = sweep._losses = Counted()
    assert not any(sweep.add(step, 2.0 - step / 2000) for step in range(1999))
    assert losses.looked_at <= 2000


def test_the_test_ends_with_its_steps() -> None:
    _, steps = swept(lambda rate: 1 - rate / 100)
    assert steps == 100


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 1.0), (1.0, 0.1), (1.0, 1.0), (1e-6, math.inf), (math.nan, 1.0)]
)
def test_rates_that_do_not_grow_are_refused(low: float, high: float) -> None:
    with pytest.raises(ArgumentError, match="give two positive numbers"):
        RateRange(low, high, 100)


def test_too_few_steps_are_refused() -> None:
    with pytest.raises(ArgumentError, match="steps=9: a range test takes at least 10"):
        RateRange(1e-6, 1.0, 9)


@pytest.mark.parametrize(("low", "high"), [("a", "1"), (None, 1.0), ([1e-6], 1.0)])
def test_limits_that_are_no_numbers_are_refused(low: Any, high: Any) -> None:
    with pytest.raises(ArgumentError, match="give two positive numbers"):
        range_test(
            Status("digits", "fit", Phase.PREPARING), low, high, steps=200, tag=None, name=None
        )
