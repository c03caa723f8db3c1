"""Hyperparameters: their ranges, and that several are set together or not at all."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from nbtrain.core.errors import ArgumentError
from nbtrain.core.hyperparameters import Edit, Hyperparameters, Variable
from nbtrain.core.ranges import Hyperparameter, Scale


class FakeVariable(Variable):
    """A variable that remembers, and can refuse."""

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
    """A factor: to write it multiplies what it acts on."""

    def __init__(self, on: FakeVariable) -> None:
        super().__init__(1.0)
        self.on = on

    def write(self, value: float) -> None:
        self.on.value *= value / self.value
        super().write(value)


def some(**values: float) -> tuple[Hyperparameters, dict[str, FakeVariable]]:
    """Hyperparameters that were read once, and their variables."""
    variables = {name: FakeVariable(value) for name, value in values.items()}
    hyperparameters = Hyperparameters(variables)
    hyperparameters.read()
    return hyperparameters, variables


def refusal(hyperparameters: Hyperparameters, **values: object) -> str:
    """Why these values were refused; nothing has changed."""
    hyperparameters.read()
    before = hyperparameters.known
    with pytest.raises(ArgumentError) as refused:
        hyperparameters.set(values)
    hyperparameters.read()
    assert hyperparameters.known == before
    return str(refused.value)


# --- setting --------------------------------------------------------------------


def test_nothing_is_known_before_they_are_read() -> None:
    hyperparameters = Hyperparameters({"learning_rate": FakeVariable(0.1)})
    assert (hyperparameters.known, hyperparameters.values, len(hyperparameters)) == ((), {}, 1)
    hyperparameters.read()
    assert hyperparameters.values == {"learning_rate": 0.1}


def test_setting_says_old_and_new_value() -> None:
    hyperparameters, variables = some(learning_rate=0.001, dropout=0.5)
    (edit,) = hyperparameters.set({"learning_rate": 1e-4})
    assert edit == Edit("learning_rate", 0.001, 0.0001)
    assert str(edit) == "learning_rate 0.001 → 0.0001"
    assert variables["learning_rate"].value == 1e-4
    assert hyperparameters.values == {"learning_rate": 1e-4, "dropout": 0.5}


def test_the_old_value_is_that_of_the_moment() -> None:
    hyperparameters, variables = some(learning_rate=0.1)
    variables["learning_rate"].value = 0.05  # by the program itself
    assert hyperparameters.set({"learning_rate": 0.2}) == (Edit("learning_rate", 0.05, 0.2),)


def test_an_unknown_name_is_refused_with_those_there_are() -> None:
    hyperparameters, _ = some(learning_rate=0.1, dropout=0.5)
    assert refusal(hyperparameters, lr=0.1) == (
        "There is no hyperparameter 'lr' in this run; it has: learning_rate, dropout."
    )


def test_the_rate_of_a_schedule_is_refused_with_the_factor_on_it() -> None:
    hyperparameters, _ = some(learning_rate_factor=1.0, dropout=0.5)
    assert refusal(hyperparameters, learning_rate=0.1) == (
        "There is no hyperparameter 'learning_rate' in this run; it has: learning_rate_factor, "
        "dropout. A schedule gives the learning_rate; learning_rate_factor multiplies it."
    )


def test_a_run_without_any_says_how_to_get_some() -> None:
    assert "it has none; give hyperparameters=" in refusal(Hyperparameters({}), lr=0.1)


@pytest.mark.parametrize(
    "value", ["0.1", "abc", b"1", None, True, 1j, [0.1], {}, np.array([0.1]), np.zeros(())[None]]
)
def test_what_is_no_number_is_refused(value: object) -> None:
    hyperparameters, _ = some(learning_rate=0.1)
    text = refusal(hyperparameters, learning_rate=value)
    assert text == f"learning_rate={value!r} is no number: give one, such as 0.001."


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**400])
def test_what_is_not_finite_is_refused(value: float) -> None:
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
def test_a_field_known_by_name_takes_what_makes_sense(
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


def test_half_of_a_whole_number_is_refused() -> None:
    hyperparameters = Hyperparameters({"batch_size": FakeVariable(32, whole=True)})
    assert refusal(hyperparameters, batch_size=0.5) == (
        "batch_size=0.5: its variable holds whole numbers, give one of these."
    )


def test_of_several_none_is_set_where_one_is_refused() -> None:
    hyperparameters, variables = some(learning_rate=0.1, dropout=0.5)
    refusal(hyperparameters, learning_rate=0.2, dropout=2.0)
    assert variables["learning_rate"].value == 0.1


def test_of_several_those_that_were_written_are_put_back_where_one_fails() -> None:
    hyperparameters, variables = some(learning_rate=0.1, dropout=0.5)
    variables["dropout"].refuses = {0.2}
    with pytest.raises(OSError, match="the server is gone"):
        hyperparameters.set({"learning_rate": 0.2, "dropout": 0.2})
    assert {name: each.value for name, each in variables.items()} == hyperparameters.values
    assert hyperparameters.values == {"learning_rate": 0.1, "dropout": 0.5}


def test_a_factor_and_what_it_acts_on_are_set_together() -> None:
    rate = FakeVariable(0.1)
    factor = FakeFactor(rate)
    hyperparameters = Hyperparameters({"learning_rate": rate, "learning_rate_factor": factor})
    edits = hyperparameters.set({"learning_rate": 0.01, "learning_rate_factor": 0.5})
    assert [*map(str, edits)] == ["learning_rate 0.1 → 0.01", "learning_rate_factor 1 → 0.5"]
    assert (rate.value, factor.value) == (0.01, 0.5)


def test_a_refused_edit_puts_back_a_factor_and_what_it_acts_on() -> None:
    rate, dropout = FakeVariable(0.1), FakeVariable(0.5)
    factor, dropout.refuses = FakeFactor(rate), {0.2}
    held = {"learning_rate": rate, "learning_rate_factor": factor, "dropout": dropout}
    with pytest.raises(OSError, match="the server is gone"):
        Hyperparameters(held).set(
            {"learning_rate": 0.01, "learning_rate_factor": 0.5, "dropout": 0.2}
        )
    assert (rate.value, factor.value, dropout.value) == (0.1, 1.0, 0.5)


def test_what_cannot_be_put_back_is_told_and_shown() -> None:
    hyperparameters, variables = some(learning_rate=0.1, dropout=0.5)
    variables["dropout"].refuses = {0.2}
    variables["learning_rate"].refuses = {0.1}
    with pytest.raises(ArgumentError, match="gone What was set could not be put back: learning_r"):
        hyperparameters.set({"learning_rate": 0.2, "dropout": 0.2})
    assert hyperparameters.values == {"learning_rate": 0.2, "dropout": 0.5}


def test_more_than_a_variable_can_hold_is_refused_and_put_back() -> None:
    hyperparameters, variables = some(scale=1.0)
    variables["scale"].most = 65504.0
    assert refusal(hyperparameters, scale=1e6) == (
        "scale=1000000: its variable cannot hold that, and would be inf."
    )


def test_what_is_set_already_is_no_change_and_one_of_several_is_enough() -> None:
    hyperparameters, variables = some(learning_rate=0.1, dropout=0.5)
    variables["learning_rate"].value = 0.2  # by the program itself
    with pytest.raises(ArgumentError, match=r"^learning_rate is 0\.2 already: give another value"):
        hyperparameters.check_changes({"learning_rate": 0.2})
    hyperparameters.check_changes({"learning_rate": 0.2, "dropout": 0.25})
    hyperparameters.check_changes({"learning_rate": 0.2001})
    with pytest.raises(ArgumentError, match="is no number"):
        hyperparameters.check_changes({"learning_rate": "0.2"})


def test_what_could_not_be_set_back_is_told_before_it_is_tried() -> None:
    hyperparameters, _ = some(rho=5.0)
    with pytest.raises(ArgumentError, match=r"^What is tried could not be set back: rho=5: give 0"):
        hyperparameters.check_changes({"rho": 0.5})


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
def test_the_range_is_learnt_from_name_and_value(
    name: str, value: float, whole: bool, wanted: tuple[float, float, Scale]
) -> None:
    learnt = Hyperparameter.of(name, value, whole=whole)
    assert (learnt.lowest, learnt.highest) == pytest.approx(wanted[:2])
    assert learnt.scale is wanted[2]


def range_of(hyperparameters: Hyperparameters, value: float) -> tuple[float, float]:
    """The range that is offered once the only one has been set to this."""
    (before,) = hyperparameters.known
    hyperparameters.set({before.name: value})
    (known,) = hyperparameters.known
    assert known.lowest <= value <= known.highest
    return known.lowest, known.highest


def test_a_range_stays_while_values_are_set_in_it() -> None:
    hyperparameters, _ = some(learning_rate=0.001)
    for value in (0.01, 1e-5, 0.1, 0.002):
        assert range_of(hyperparameters, value) == pytest.approx((1e-5, 0.1))


def test_after_a_slip_of_the_hand_the_range_is_as_before() -> None:
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


def test_zero_is_no_end_of_a_logarithmic_range() -> None:
    hyperparameters, _ = some(learning_rate=0.001)
    hyperparameters.set({"learning_rate": 0})
    (known,) = hyperparameters.known
    assert (known.value, known.lowest) == (0.0, pytest.approx(1e-5))


def test_a_value_that_became_nan_leaves_the_range_as_it_is() -> None:
    hyperparameters, variables = some(learning_rate=0.001)
    variables["learning_rate"].value = math.nan
    hyperparameters.read()
    (known,) = hyperparameters.known
    assert math.isnan(known.value)
    assert (known.lowest, known.highest) == pytest.approx((1e-5, 0.1))
