"""Hyperparameters: their ranges, and that several are set together or not at all."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from nbtrain.core.errors import ArgumentError
from nbtrain.core.values.hyperparameters import Edit, Hyperparameters, Variable
from nbtrain.core.values.ranges import Hyperparameter, Scale


class FakeVariable(Variable):
    """A variable that remembers, and can raise errors."""

    def __init__(self, value: float, *, whole: bool = False) -> None:
        self.value = value
        self.whole = whole
        self.refuses: set[float] = set()
        self.most = math.inf

    def read(self) -> float:
        return self.value

    def write(self, value: float) -> None:
        if value in self.refuses:
            raise OSError("the server is gone")
        self.value = value if abs(value) <= self.most else math.copysign(math.inf, value)


class FakeFactor(FakeVariable):
    """A factor: writing it multiplies the value that it acts on."""

    def __init__(self, on: FakeVariable) -> None:
        super().__init__(1.0)
        self.on = on

    def write(self, value: float) -> None:
        self.on.value *= value / self.value
        super().write(value)


def some(**values: float) -> tuple[Hyperparameters, dict[str, FakeVariable]]:
    """Returns hyperparameters that were read once, and their variables."""
    variables = {name: FakeVariable(value) for name, value in values.items()}
    hyperparameters = Hyperparameters(variables)
    hyperparameters.read()
    return hyperparameters, variables


def refusal(hyperparameters: Hyperparameters, **values: object) -> str:
    """Returns the error for these values; nothing has changed."""
    hyperparameters.read()
    before = hyperparameters.known
    with pytest.raises(ArgumentError) as refused:
        hyperparameters.set(values)
    hyperparameters.read()
    assert hyperparameters.known == before
    return str(refused.value)


# --- setting --------------------------------------------------------------------


def test_no_value_is_known_before_reading() -> None:
    hyperparameters = Hyperparameters({"learning_rate": FakeVariable(0.1)})
    assert (hyperparameters.known, hyperparameters.values, len(hyperparameters)) == ((), {}, 1)
    hyperparameters.read()
    assert hyperparameters.values == {"learning_rate": 0.1}


def test_setting_reports_old_and_new_value() -> None:
    hyperparameters, variables = some(learning_rate=0.001, dropout=0.5)
    (edit,) = hyperparameters.set({"learning_rate": 1e-4})
    assert edit == Edit("learning_rate", 0.001, 0.0001)
    assert str(edit) == "learning_rate 0.001 → 0.0001"
    assert variables["learning_rate"].value == 1e-4
    assert hyperparameters.values == {"learning_rate": 1e-4, "dropout": 0.5}


def test_the_old_value_is_the_current_one() -> None:
    hyperparameters, variables = some(learning_rate=0.1)
    variables["learning_rate"].value = 0.05  # by the program itself
    assert hyperparameters.set({"learning_rate": 0.2}) == (Edit("learning_rate", 0.05, 0.2),)


def test_an_unknown_name_raises_with_the_known_ones() -> None:
    hyperparameters, _ = some(learning_rate=0.1, dropout=0.5)
    assert refusal(hyperparameters, lr=0.1) == (
        "There is no hyperparameter 'lr' in this run; it has: learning_rate, dropout."
    )


def test_setting_a_scheduled_rate_raises_and_names_its_factor() -> None:
    hyperparameters, _ = some(learning_rate_factor=1.0, dropout=0.5)
    assert refusal(hyperparameters, learning_rate=0.1) == (
        "There is no hyperparameter 'learning_rate' in this run; it has: learning_rate_factor, "
        "dropout. A schedule gives the learning_rate; learning_rate_factor multiplies it."
    )


def test_a_run_without_hyperparameters_says_how_to_get_some() -> None:
    assert "it has none; give hyperparameters=" in refusal(Hyperparameters({}), lr=0.1)


@pytest.mark.parametrize(
    "value", ["0.1", "abc", b"1", None, True, 1j, [0.1], {}, np.array([0.1]), np.zeros(())[None]]
)
def test_a_value_that_is_not_a_number_raises(value: object) -> None:
    hyperparameters, _ = some(learning_rate=0.1)
    text = refusal(hyperparameters, learning_rate=value)
    assert text == f"learning_rate={value!r} is no number: give one, such as 0.001."


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**400])
def test_nan_and_infinity_raise(value: float) -> None:
    hyperparameters, _ = some(anything=0.1)
    assert refusal(hyperparameters, anything=value).endswith("give a finite number.")


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("learning_rate", 0.0, True),
        ("learning_rate", -1e-9, False),
        ("critic_learning_rate", -1.0, False),
        ("learning_rate_factor", 0.0, True),
        ("learning_rate_factor", -1.0, False),
        ("weight_decay", -0.1, False),
        ("dropout", 0.0, True),
        ("dropout", 1.0, False),
        ("head_dropout_rate", 1.5, False),
        ("dropout_1_rate", 1.0, False),
        ("momentum", 0.999, True),
        ("momentum", 1.0, False),
        ("beta_1", -0.1, False),
        ("temperature", -3.0, True),
        ("heartbeat", 7.0, True),
    ],
)
def test_a_known_name_accepts_only_sensible_values(
    name: str, value: float, *, allowed: bool
) -> None:
    hyperparameters, _ = some(**{name: 0.5})
    if allowed:
        assert hyperparameters.set({name: value})[0].new == value
    else:
        assert f"{name}={value:.10g}: give 0 or more" in refusal(hyperparameters, **{name: value})


@pytest.mark.parametrize("value", [16, 16.0, np.int64(16), np.float32(16), np.array(16)])
def test_a_whole_number_may_be_written_in_any_way(value: Any) -> None:
    hyperparameters = Hyperparameters({"batch_size": FakeVariable(32, whole=True)})
    assert str(hyperparameters.set({"batch_size": value})[0]) == "batch_size 32 → 16"


def test_a_fraction_for_a_whole_number_raises() -> None:
    hyperparameters = Hyperparameters({"batch_size": FakeVariable(32, whole=True)})
    assert refusal(hyperparameters, batch_size=0.5) == (
        "batch_size=0.5: its variable holds whole numbers, give one of these."
    )


def test_if_one_of_several_is_refused_none_is_set() -> None:
    hyperparameters, variables = some(learning_rate=0.1, dropout=0.5)
    refusal(hyperparameters, learning_rate=0.2, dropout=2.0)
    assert variables["learning_rate"].value == 0.1


def test_if_one_of_several_fails_the_written_ones_are_restored() -> None:
    hyperparameters, variables = some(learning_rate=0.1, dropout=0.5)
    variables["dropout"].refuses = {0.2}
    with pytest.raises(OSError, match="the server is gone"):
        hyperparameters.set({"learning_rate": 0.2, "dropout": 0.2})
    assert {name: each.value for name, each in variables.items()} == hyperparameters.values
    assert hyperparameters.values == {"learning_rate": 0.1, "dropout": 0.5}


def test_a_factor_and_its_value_are_set_together() -> None:
    rate = FakeVariable(0.1)
    factor = FakeFactor(rate)
    hyperparameters = Hyperparameters({"learning_rate": rate, "learning_rate_factor": factor})
    edits = hyperparameters.set({"learning_rate": 0.01, "learning_rate_factor": 0.5})
    assert [*map(str, edits)] == ["learning_rate 0.1 → 0.01", "learning_rate_factor 1 → 0.5"]
    assert (rate.value, factor.value) == (0.01, 0.5)


def test_a_refused_edit_restores_a_factor_and_its_value() -> None:
    rate, dropout = FakeVariable(0.1), FakeVariable(0.5)
    factor, dropout.refuses = FakeFactor(rate), {0.2}
    held = {"learning_rate": rate, "learning_rate_factor": factor, "dropout": dropout}
    with pytest.raises(OSError, match="the server is gone"):
        Hyperparameters(held).set(
            {"learning_rate": 0.01, "learning_rate_factor": 0.5, "dropout": 0.2}
        )
    assert (rate.value, factor.value, dropout.value) == (0.1, 1.0, 0.5)


def test_a_value_that_cannot_be_restored_is_reported_and_shown() -> None:
    hyperparameters, variables = some(learning_rate=0.1, dropout=0.5)
    variables["dropout"].refuses = {0.2}
    variables["learning_rate"].refuses = {0.1}
    with pytest.raises(ArgumentError, match="gone What was set could not be put back: learning_r"):
        hyperparameters.set({"learning_rate": 0.2, "dropout": 0.2})
    assert hyperparameters.values == {"learning_rate": 0.2, "dropout": 0.5}


def test_an_overflow_raises_and_is_undone() -> None:
    hyperparameters, variables = some(scale=1.0)
    variables["scale"].most = 65504.0
    assert refusal(hyperparameters, scale=1e6) == (
        "scale=1000000: its variable cannot hold that, and would be inf."
    )


def test_setting_equal_values_raises_unless_one_changes() -> None:
    hyperparameters, variables = some(learning_rate=0.1, dropout=0.5)
    variables["learning_rate"].value = 0.2  # by the program itself
    with pytest.raises(ArgumentError, match=r"^learning_rate is 0\.2 already: give another value"):
        hyperparameters.check_changes({"learning_rate": 0.2})
    hyperparameters.check_changes({"learning_rate": 0.2, "dropout": 0.25})
    hyperparameters.check_changes({"learning_rate": 0.2001})
    with pytest.raises(ArgumentError, match="is no number"):
        hyperparameters.check_changes({"learning_rate": "0.2"})


def test_a_change_that_cannot_be_undone_raises_before_it_is_made() -> None:
    hyperparameters, _ = some(rho=5.0)
    with pytest.raises(ArgumentError, match=r"^What is tried could not be set back: rho=5: give 0"):
        hyperparameters.check_undo(["rho"])


# --- ranges ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "whole", "wanted"),
    [
        ("learning_rate", 0.001, False, (1e-5, 0.1, Scale.LOG)),
        ("learning_rate", 0.0, False, (1e-6, 1.0, Scale.LOG)),
        ("learning_rate_factor", 1.0, False, (0.01, 100.0, Scale.LOG)),
        ("temperature", 20.0, False, (0.1, 1000.0, Scale.LOG)),
        ("dropout", 0.25, False, (0.0, 0.99, Scale.LINEAR)),
        ("momentum", 0.9, False, (0.0, 0.99, Scale.LINEAR)),
        ("beta_2", 0.999, False, (0.0, 0.999, Scale.LINEAR)),
        ("bias", -3.0, False, (-6.0, 6.0, Scale.LINEAR)),
        ("bias", 0.0, False, (0.0, 1.0, Scale.LINEAR)),
        ("bias", math.nan, False, (0.0, 1.0, Scale.LINEAR)),
        ("batch_size", 32.0, True, (1.0, 128.0, Scale.WHOLE)),
        ("level", 0.0, True, (0.0, 10.0, Scale.WHOLE)),
        ("level", -5.0, True, (-20.0, 20.0, Scale.WHOLE)),
    ],
)
def test_the_range_is_learned_from_name_and_value(
    name: str, value: float, whole: bool, wanted: tuple[float, float, Scale]
) -> None:
    learnt = Hyperparameter.of(name, value, whole=whole)
    assert (learnt.lowest, learnt.highest) == pytest.approx(wanted[:2])
    assert learnt.scale is wanted[2]


def range_of(hyperparameters: Hyperparameters, value: float) -> tuple[float, float]:
    """The range of the slider after setting the only hyperparameter to this value."""
    (before,) = hyperparameters.known
    hyperparameters.set({before.name: value})
    (known,) = hyperparameters.known
    assert known.lowest <= value <= known.highest
    return known.lowest, known.highest


def test_a_range_stays_while_values_lie_in_it() -> None:
    hyperparameters, _ = some(learning_rate=0.001)
    for value in (0.01, 1e-5, 0.1, 0.002):
        assert range_of(hyperparameters, value) == pytest.approx((1e-5, 0.1))


def test_the_range_recovers_after_a_mistake() -> None:
    hyperparameters, _ = some(learning_rate=0.001)
    assert range_of(hyperparameters, 1e30) == pytest.approx((1e-5, 1e30))
    assert range_of(hyperparameters, 0.01) == pytest.approx((1e-5, 0.1))
    assert range_of(hyperparameters, 1e-9) == pytest.approx((1e-9, 0.1), rel=1e-9, abs=0)
    assert range_of(hyperparameters, 0.5) == pytest.approx((1e-5, 1.0))


@pytest.mark.parametrize(
    ("name", "first", "values", "wanted"),
    [
        ("learning_rate", 0.001, (2e-9, 1.1e-9, 9e-9), (1e-9, 0.1)),
        ("temperature", 1.0, (200.0, 999.0, 101.0), (0.01, 1000.0)),
        ("bias", -3.0, (7.0, 9.5, 6.1), (-6.0, 10.0)),
        ("bias", -3.0, (-700.0, -101.0), (-1000.0, 6.0)),
        ("bias", 0.0, (-0.5, -0.2), (-1.0, 1.0)),
        ("bias", 1.0, (1.7e308,), (0.01, 1.7e308)),
        ("bias", 1.0, (5e-324,), (5e-324, 100.0)),
        ("beta_2", 0.5, (0.999,), (0.0, 0.999)),
    ],
)
def test_a_range_is_the_same_for_values_of_one_decade_beyond_it(
    name: str, first: float, values: tuple[float, ...], wanted: tuple[float, float]
) -> None:
    hyperparameters, _ = some(**{name: first})
    for value in values:
        assert range_of(hyperparameters, value) == pytest.approx(wanted, rel=1e-9, abs=0)


def test_a_logarithmic_range_does_not_end_at_zero() -> None:
    hyperparameters, _ = some(learning_rate=0.001)
    hyperparameters.set({"learning_rate": 0})
    (known,) = hyperparameters.known
    assert (known.value, known.lowest) == (0.0, pytest.approx(1e-5))


def test_a_nan_does_not_change_the_range() -> None:
    hyperparameters, variables = some(learning_rate=0.001)
    variables["learning_rate"].value = math.nan
    hyperparameters.read()
    (known,) = hyperparameters.known
    assert math.isnan(known.value)
    assert (known.lowest, known.highest) == pytest.approx((1e-5, 0.1))
