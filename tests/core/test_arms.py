"""The arms of a trial, and the table of their results."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nbtrain.core.commands import Try
from nbtrain.core.errors import ArgumentError
from nbtrain.core.values.arms import MOST_ARMS, ArmResult, arms_of, best_of, change_of, table
from nbtrain.core.values.direction import Direction


def told(trial: Try) -> list[tuple[str, dict[str, object]]]:
    return [(arm.name, dict(arm.values)) for arm in arms_of(trial.values, trial.settings)]


def test_each_value_of_a_list_is_an_arm() -> None:
    assert told(Try({"rate": [0.1, 1]})) == [("rate 0.1", {"rate": 0.1}), ("rate 1", {"rate": 1})]


def test_a_single_value_beside_a_list_is_in_every_arm() -> None:
    assert told(Try({"rate": (0.1, 1), "size": 3})) == [
        ("rate 0.1", {"rate": 0.1, "size": 3}),
        ("rate 1", {"rate": 1, "size": 3}),
    ]


def test_several_lists_are_a_grid_in_their_order() -> None:
    found = [name for name, _ in told(Try({"a": [1, 2], "b": [3, 4]}))]
    assert found == ["a 1, b 3", "a 1, b 4", "a 2, b 3", "a 2, b 4"]


def test_named_settings_are_arms_with_their_names() -> None:
    settings: dict[str, dict[str, object]] = {
        "calm": {"rate": 0.1},
        "bold": {"rate": 9, "size": 1},
    }
    assert told(Try({"size": 3}, settings=settings)) == [
        ("calm", {"size": 3, "rate": 0.1}),
        ("bold", {"size": 1, "rate": 9}),
    ]


def test_settings_and_lists_are_combined() -> None:
    names = [name for name, _ in told(Try({"size": [1, 2]}, settings={"calm": {"rate": 0.1}}))]
    assert names == ["calm, size 1", "calm, size 2"]


def test_a_list_that_a_setting_overrides_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"rate has a list.*is in settings\['calm'\], too"):
        arms_of({"rate": [1, 2]}, {"bold": {"size": 1}, "calm": {"rate": 0.1}})


@pytest.mark.parametrize("values", [range(1, 3), np.array([1.0, 2.0])])
def test_ranges_and_arrays_are_lists(values: object) -> None:
    assert [name for name, _ in told(Try({"rate": values}))] == ["rate 1", "rate 2"]


@pytest.mark.parametrize(
    ("values", "several"),
    [({"rate": 0.1}, False), ({"rate": np.float64(1)}, False), ({"rate": [0.1]}, True)],
)
def test_a_list_of_one_value_is_compared_too(values: dict[str, object], *, several: bool) -> None:
    assert Try(values).is_comparison is several
    assert Try(values).leaves_choice is several
    assert Try(values, repeats=2).is_comparison
    assert Try(values, repeats=2).leaves_choice is several


def test_an_empty_list_and_too_many_arms_are_refused() -> None:
    with pytest.raises(ArgumentError, match="rate has no value to try: give at least one"):
        arms_of({"rate": ()}, {})
    with pytest.raises(ArgumentError, match="calm has no value to try"):
        arms_of({}, {"calm": {}})
    with pytest.raises(ArgumentError, match=rf"121 settings.*at most {MOST_ARMS}"):
        arms_of({"a": range(11), "b": range(11)}, {})


def test_what_is_changed_afterwards_does_not_change_a_trial() -> None:
    rates, calm = [0.1, 0.2], {"rate": 0.1}
    trial = Try({"rate": rates}, settings={"calm": calm})
    rates.append(0.3)
    calm["rate"] = 9.0
    assert (trial.values["rate"], trial.settings["calm"]["rate"]) == ((0.1, 0.2), 0.1)


def test_a_result_has_the_mean_and_the_spread_of_its_repeats() -> None:
    result = ArmResult("a", {}, "loss", 4.0).measured(1.0).measured(3.0)
    assert (result.mean, result.difference) == (2.0, -2.0)
    assert result.spread == pytest.approx(math.sqrt(2))
    assert ArmResult("a", {}, "loss", 4.0, (1.0,)).spread is None
    bad = result.measured(math.nan, "loss is NaN").measured(1.0, "later")
    assert math.isnan(bad.mean)
    assert bad.note == "loss is NaN"


def test_a_change_is_written_with_enough_digits() -> None:
    assert change_of("loss", 0.01, 0.02) == "loss 0.01 → 0.02"
    assert change_of("loss", 0.0123456, 0.0123457) == "loss 0.0123456 → 0.0123457"
    assert change_of("loss", 0.01, 0.01) == "loss 0.01 → 0.01"


def test_a_result_is_written_with_its_spread_or_with_the_reason_that_it_has_none() -> None:
    once = ArmResult("rate 1", {}, "loss", 4.0, (1.0,))
    assert str(once) == "rate 1 loss 4 → 1"
    assert str(once.measured(2.0)) == "rate 1 loss 4 → 1.5 ± 0.71"
    assert str(once.measured(math.nan, "loss is nan")) == "rate 1 loss is nan"


def test_the_first_of_the_best_results_is_the_best_and_none_if_all_are_nan() -> None:
    results = [ArmResult("", {}, "", 0.0, (value,)) for value in (math.nan, 2.0, 1.0, 1.0, 2.0)]
    assert best_of(results, Direction.LOWEST) == 2
    assert best_of(results, Direction.HIGHEST) == 1
    assert best_of(results[:1], Direction.LOWEST) is None


def test_a_table_has_a_spread_and_notes_only_if_there_are_some() -> None:
    once = ArmResult("rate 1", {}, "loss", 4.0, (1.0,))
    assert table([once]).splitlines() == [
        "values  loss before  after  difference",
        "rate 1  4            1      -3",
    ]
    both = table([once.measured(3.0), ArmResult("rate 2", {}, "loss", 4.0, (math.nan,), "bad")])
    assert both.splitlines()[0].split() == [
        *("values", "loss", "before", "after", "difference", "spread", "note")
    ]
    assert table([]) == ""


def test_the_values_of_a_grid_are_read_whole_in_the_table() -> None:
    names = [f"learning_rate 0.001, weight_decay {decay}" for decay in (0.0001, 0.0002)]
    shown = table([ArmResult(name, {}, "loss", 1.0, (0.5,)) for name in names])
    assert all(name in shown for name in names)
