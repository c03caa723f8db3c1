"""Which values of a scalar are better: as it is known, as the user says, or by the last word."""

from __future__ import annotations

import math

import pytest

from nbtrain.core.errors import ArgumentError
from nbtrain.core.values.direction import Direction, Directions, common, parted, read

HIGHEST, LOWEST = Direction.HIGHEST, Direction.LOWEST


@pytest.mark.parametrize("tag", ["loss", "val_loss", "model/TotalLoss_1", "mae", "epoch_val_error"])
def test_of_a_loss_and_an_error_the_lowest_is_the_best(tag: str) -> None:
    assert Directions().of(tag) is LOWEST


@pytest.mark.parametrize("tag", ["accuracy", "val_acc", "epoch_val_top_accuracy"])
def test_of_an_accuracy_the_highest_is_the_best(tag: str) -> None:
    assert Directions().of(tag) is HIGHEST


@pytest.mark.parametrize("tag", ["", "val_top3", "elbo", "val_f1", "loss_scale", "perplexity"])
def test_of_everything_else_nothing_is_known(tag: str) -> None:
    assert Directions().of(tag) is None


def test_a_known_direction_holds_for_the_evaluations_and_epochs_of_its_scalar() -> None:
    known = Directions({"top3": HIGHEST})
    for tag in ("top3", "val_top3", "epoch_top3", "epoch_val_top3"):
        assert known.of(tag) is HIGHEST
    assert known.of("xtop3") is None


def test_the_nearest_name_comes_first_and_then_the_last_word() -> None:
    known = Directions({"gain_loss": HIGHEST}).also("val_gain_loss", LOWEST)
    assert known.of("epoch_val_gain_loss") is LOWEST
    assert known.of("gain_loss") is HIGHEST
    assert known.of("loss") is LOWEST


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("max:elbo", ("elbo", HIGHEST)),
        ("min:val_top3", ("val_top3", LOWEST)),
        ("val_top3", ("val_top3", HIGHEST)),
        ("max:val_loss", ("val_loss", HIGHEST)),
        ("loss:0", ("loss:0", LOWEST)),
    ],
)
def test_what_the_user_says_comes_before_what_is_known(
    wanted: str, found: tuple[str, Direction]
) -> None:
    assert Directions({"top3": HIGHEST}).asked("keep_best", wanted) == found


def test_an_unknown_direction_is_asked_for_with_the_line_to_type() -> None:
    with pytest.raises(ArgumentError) as caught:
        Directions().asked("keep_best", "elbo")
    assert str(caught.value) == (
        "keep_best='elbo': nothing tells whether a higher or a lower value of 'elbo' is better. "
        'Give keep_best="max:elbo" if a higher one is, or keep_best="min:elbo".'
    )


def test_other_processes_are_told_what_the_last_word_does_not_tell() -> None:
    known = {"top3": HIGHEST, "accuracy": HIGHEST, "mae": LOWEST, "odd_loss": HIGHEST}
    told = Directions(known).told
    assert told == {"top3": "max", "odd_loss": "max"}
    for tag in known:
        assert read(told).of(tag) is known[tag]


def test_a_direction_that_agrees_with_its_word_is_told_if_another_name_does_not() -> None:
    known = Directions({"error": HIGHEST, "val_error": LOWEST})
    assert read(known.told).of("val_error") is LOWEST


@pytest.mark.parametrize("told", [None, 3, {"a": "up"}, {"a": ["max"]}, ["a"]])
def test_a_file_that_tells_something_else_tells_no_direction(told: object) -> None:
    assert read(told).told == {}


def test_runs_that_differ_have_no_direction_in_common() -> None:
    assert common([HIGHEST, None, HIGHEST]) is HIGHEST
    assert common([HIGHEST, LOWEST]) is common([]) is common([None]) is None


def test_a_value_that_is_nan_is_never_preferred() -> None:
    assert HIGHEST.prefers(2.0, 1.0)
    assert LOWEST.prefers(1.0, 2.0)
    assert not HIGHEST.prefers(math.nan, 1.0)
    assert not LOWEST.prefers(math.nan, 1.0)


def test_nan_is_worse_than_any_number_and_no_number_is_worse_than_nan() -> None:
    assert HIGHEST.is_worse(1.0, 2.0)
    assert LOWEST.is_worse(2.0, 1.0)
    assert not LOWEST.is_worse(1.0, 1.0)
    assert LOWEST.is_worse(math.nan, 1.0)
    assert not LOWEST.is_worse(1.0, math.nan)
    assert not LOWEST.is_worse(math.nan, math.nan)


def test_a_prefix_is_parted_from_its_tag() -> None:
    assert parted("max:a:b") == ("a:b", HIGHEST)
    assert parted("maximum:a") == ("maximum:a", None)
