"""The alarm: which losses are bad, since when, and which checkpoints are good."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nbtrain.recording.loss_monitor import Alarm, is_loss

NAN, INF = math.nan, math.inf


def look(alarm: Alarm, *values: float, tag: str = "loss", after: int = 0) -> None:
    """Values of the steps that follow one."""
    steps = np.arange(after + 1, after + 1 + len(values))
    alarm.look(tag, steps, np.array(values))


@pytest.mark.parametrize(
    "tag", ["loss", "Loss", "batch_loss", "epoch_loss", "train/loss", "actor.loss", "total loss"]
)
def test_a_tag_whose_last_word_is_loss_is_watched(tag: str) -> None:
    assert is_loss(tag)


@pytest.mark.parametrize(
    "tag",
    ["accuracy", "loss_scale", "glossy", "gloss", "val_loss", "epoch_val_loss", "test/loss", ""],
)
def test_what_is_no_loss_of_a_training_is_not(tag: str) -> None:
    assert not is_loss(tag)
    alarm = Alarm()
    look(alarm, NAN, tag=tag or "-")
    assert alarm.trouble is None


@pytest.mark.parametrize(("bad", "word"), [(NAN, "NaN"), (INF, "infinite"), (-INF, "infinite")])
def test_the_first_bad_value_is_told_with_its_tag_and_its_step(bad: float, word: str) -> None:
    alarm = Alarm()
    look(alarm, 0.5, 0.4)
    assert alarm.trouble is None
    look(alarm, 0.3, bad, NAN, 0.2, after=2)
    assert alarm.trouble is not None
    assert (alarm.trouble.name, alarm.trouble.step) == ("loss", 4)
    assert str(alarm.trouble) == f"loss is {word} since step 4"
    look(alarm, NAN, after=6)
    assert alarm.trouble.step == 4, "it is that which came first"


def test_good_are_the_checkpoints_of_which_a_good_loss_came() -> None:
    alarm = Alarm()
    look(alarm, 0.5, 0.4, 0.3)
    look(alarm, NAN, after=3)
    assert alarm.trouble is not None
    assert alarm.trouble.good == 3, "of the weights after step 2 the loss of step 3 was computed"


def test_what_a_course_began_from_is_not_good_if_it_goes_bad_at_once() -> None:
    alarm = Alarm()
    alarm.turn_back(100)
    look(alarm, NAN, after=100)
    assert alarm.trouble is not None
    assert alarm.trouble.good == 100


def test_a_new_course_has_no_trouble() -> None:
    alarm = Alarm()
    look(alarm, 0.5, NAN)
    alarm.turn_back(1)
    assert alarm.trouble is None
    look(alarm, 0.5, after=1)
    assert alarm.trouble is None


def test_what_is_acknowledged_is_trouble_until_a_good_value_comes() -> None:
    alarm = Alarm()
    look(alarm, 0.5, NAN)
    first = alarm.trouble
    look(alarm, 0.4, after=2)
    assert alarm.trouble is first, "nobody has heard of it yet"
    alarm.acknowledge()
    look(alarm, NAN, after=3)
    assert alarm.trouble is first
    look(alarm, 0.4, tag="other/loss", after=4)
    assert alarm.trouble is first
    look(alarm, 0.4, after=4)
    assert alarm.trouble is None
    look(alarm, NAN, after=5)
    assert alarm.trouble is not None
    assert alarm.trouble.step == 6


def test_a_variable_is_told_by_its_name() -> None:
    alarm = Alarm()
    look(alarm, 0.5, 0.4)
    alarm.look_at(lambda: "dense/kernel", 2)
    assert str(alarm.trouble) == "dense/kernel holds NaN or Inf after step 2"
    assert alarm.trouble is not None
    assert alarm.trouble.good == 2


def test_a_loss_that_comes_once_an_epoch_does_not_make_what_was_saved_since_bad() -> None:
    alarm = Alarm()
    look(alarm, 0.5, tag="epoch_loss", after=9)
    look(alarm, 0.5, 0.4, tag="batch_loss", after=18)
    alarm.look_at(lambda: "dense/kernel", 20)
    assert alarm.trouble is not None
    assert alarm.trouble.good == 20


def test_without_a_loss_all_that_was_saved_before_is_good() -> None:
    alarm = Alarm()
    alarm.look_at(lambda: "dense/kernel", 7)
    assert alarm.trouble is not None
    assert alarm.trouble.good == 7


def test_a_variable_that_is_good_again_is_no_trouble_and_a_loss_still_is() -> None:
    alarm = Alarm()
    alarm.look_at(lambda: "dense/kernel", 7)
    alarm.look_at(lambda: None, 7)
    assert alarm.trouble is None
    look(alarm, NAN)
    alarm.look_at(lambda: None, 7)
    assert alarm.trouble is not None


def test_a_jump_is_told_with_the_level() -> None:
    alarm = Alarm(jump=10.0)
    look(alarm, *[0.5] * 300, 5.1, 0.5)
    assert str(alarm.trouble) == "loss jumped from about 0.5 to 5.1 at step 301"


def test_a_jump_is_found_among_many_that_come_at_once() -> None:
    alarm = Alarm(jump=10.0)
    look(alarm, *[0.5] * 100, 6.0, *[0.5] * 50_000)
    assert alarm.trouble is not None
    assert alarm.trouble.step == 101


def test_one_outlier_raises_no_level_and_a_slow_rise_is_no_jump() -> None:
    alarm = Alarm(jump=10.0)
    look(alarm, *[0.5] * 30, 4.9, *np.linspace(0.5, 50.0, 2000))
    assert alarm.trouble is None


@pytest.mark.parametrize("values", [[0.5] * 19, [-0.5] * 300, [0.0] * 300])
def test_where_no_level_is_known_nothing_is_a_jump(values: list[float]) -> None:
    alarm = Alarm(jump=10.0)
    look(alarm, *values)
    look(alarm, 1e6, after=len(values))
    assert alarm.trouble is None


def test_after_a_jump_that_was_acknowledged_the_new_level_counts() -> None:
    alarm = Alarm(jump=10.0)
    look(alarm, *[0.5] * 100)
    look(alarm, 50.0, after=100)
    alarm.acknowledge()
    look(alarm, *[50.0] * 100, after=101)
    assert alarm.trouble is None
    look(alarm, 501.0, after=201)
    assert alarm.trouble is not None


def test_a_jump_before_a_nan_is_told_first() -> None:
    alarm = Alarm(jump=10.0)
    look(alarm, *[0.5] * 100, 50.0, NAN)
    assert alarm.trouble is not None
    assert alarm.trouble.step == 101


def test_a_jump_among_very_many_values_at_once_is_found() -> None:
    alarm = Alarm(jump=10.0)
    values = np.full(200_000, 0.5)
    values[100] = 6.0
    alarm.look("loss", np.arange(1, 200_001), values)
    assert alarm.trouble is not None
    assert (alarm.trouble.step, alarm.trouble.good) == (101, 100)
