"""The alarm: which losses are bad, since when, and which checkpoints are good."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nbtrain.recording.loss_monitor import LossMonitor, is_loss

NAN, INF = math.nan, math.inf


def look(loss_monitor: LossMonitor, *values: float, tag: str = "loss", after: int = 0) -> None:
    """Values of the steps that follow one."""
    steps = np.arange(after + 1, after + 1 + len(values))
    loss_monitor.look(tag, steps, np.array(values))


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
    loss_monitor = LossMonitor()
    look(loss_monitor, NAN, tag=tag or "-")
    assert loss_monitor.anomaly is None


@pytest.mark.parametrize(("bad", "word"), [(NAN, "NaN"), (INF, "infinite"), (-INF, "infinite")])
def test_the_first_bad_value_is_told_with_its_tag_and_its_step(bad: float, word: str) -> None:
    loss_monitor = LossMonitor()
    look(loss_monitor, 0.5, 0.4)
    assert loss_monitor.anomaly is None
    look(loss_monitor, 0.3, bad, NAN, 0.2, after=2)
    assert loss_monitor.anomaly is not None
    assert (loss_monitor.anomaly.name, loss_monitor.anomaly.step) == ("loss", 4)
    assert str(loss_monitor.anomaly) == f"loss is {word} since step 4"
    look(loss_monitor, NAN, after=6)
    assert loss_monitor.anomaly.step == 4, "it is that which came first"


def test_good_are_the_checkpoints_of_which_a_good_loss_came() -> None:
    loss_monitor = LossMonitor()
    look(loss_monitor, 0.5, 0.4, 0.3)
    look(loss_monitor, NAN, after=3)
    assert loss_monitor.anomaly is not None
    assert loss_monitor.anomaly.good == 3, (
        "of the weights after step 2 the loss of step 3 was computed"
    )


def test_what_a_course_began_from_is_not_good_if_it_goes_bad_at_once() -> None:
    loss_monitor = LossMonitor()
    loss_monitor.turn_back(100)
    look(loss_monitor, NAN, after=100)
    assert loss_monitor.anomaly is not None
    assert loss_monitor.anomaly.good == 100


def test_a_new_course_has_no_trouble() -> None:
    loss_monitor = LossMonitor()
    look(loss_monitor, 0.5, NAN)
    loss_monitor.turn_back(1)
    assert loss_monitor.anomaly is None
    look(loss_monitor, 0.5, after=1)
    assert loss_monitor.anomaly is None


def test_what_is_acknowledged_is_trouble_until_a_good_value_comes() -> None:
    loss_monitor = LossMonitor()
    look(loss_monitor, 0.5, NAN)
    first = loss_monitor.anomaly
    look(loss_monitor, 0.4, after=2)
    assert loss_monitor.anomaly is first, "nobody has heard of it yet"
    loss_monitor.acknowledge()
    look(loss_monitor, NAN, after=3)
    assert loss_monitor.anomaly is first
    look(loss_monitor, 0.4, tag="other/loss", after=4)
    assert loss_monitor.anomaly is first
    look(loss_monitor, 0.4, after=4)
    assert loss_monitor.anomaly is None
    look(loss_monitor, NAN, after=5)
    assert loss_monitor.anomaly is not None
    assert loss_monitor.anomaly.step == 6


def test_a_variable_is_told_by_its_name() -> None:
    loss_monitor = LossMonitor()
    look(loss_monitor, 0.5, 0.4)
    loss_monitor.look_at(lambda: "dense/kernel", 2)
    assert str(loss_monitor.anomaly) == "dense/kernel holds NaN or Inf after step 2"
    assert loss_monitor.anomaly is not None
    assert loss_monitor.anomaly.good == 2


def test_a_loss_that_comes_once_an_epoch_does_not_make_what_was_saved_since_bad() -> None:
    loss_monitor = LossMonitor()
    look(loss_monitor, 0.5, tag="epoch_loss", after=9)
    look(loss_monitor, 0.5, 0.4, tag="batch_loss", after=18)
    loss_monitor.look_at(lambda: "dense/kernel", 20)
    assert loss_monitor.anomaly is not None
    assert loss_monitor.anomaly.good == 20


def test_without_a_loss_all_that_was_saved_before_is_good() -> None:
    loss_monitor = LossMonitor()
    loss_monitor.look_at(lambda: "dense/kernel", 7)
    assert loss_monitor.anomaly is not None
    assert loss_monitor.anomaly.good == 7


def test_a_variable_that_is_good_again_is_no_trouble_and_a_loss_still_is() -> None:
    loss_monitor = LossMonitor()
    loss_monitor.look_at(lambda: "dense/kernel", 7)
    loss_monitor.look_at(lambda: None, 7)
    assert loss_monitor.anomaly is None
    look(loss_monitor, NAN)
    loss_monitor.look_at(lambda: None, 7)
    assert loss_monitor.anomaly is not None


def test_a_jump_is_told_with_the_level() -> None:
    loss_monitor = LossMonitor(jump=10.0)
    look(loss_monitor, *[0.5] * 300, 5.1, 0.5)
    assert str(loss_monitor.anomaly) == "loss jumped from about 0.5 to 5.1 at step 301"


def test_a_jump_is_found_among_many_that_come_at_once() -> None:
    loss_monitor = LossMonitor(jump=10.0)
    look(loss_monitor, *[0.5] * 100, 6.0, *[0.5] * 50_000)
    assert loss_monitor.anomaly is not None
    assert loss_monitor.anomaly.step == 101


def test_one_outlier_raises_no_level_and_a_slow_rise_is_no_jump() -> None:
    loss_monitor = LossMonitor(jump=10.0)
    look(loss_monitor, *[0.5] * 30, 4.9, *np.linspace(0.5, 50.0, 2000))
    assert loss_monitor.anomaly is None


@pytest.mark.parametrize("values", [[0.5] * 19, [-0.5] * 300, [0.0] * 300])
def test_where_no_level_is_known_nothing_is_a_jump(values: list[float]) -> None:
    loss_monitor = LossMonitor(jump=10.0)
    look(loss_monitor, *values)
    look(loss_monitor, 1e6, after=len(values))
    assert loss_monitor.anomaly is None


def test_after_a_jump_that_was_acknowledged_the_new_level_counts() -> None:
    loss_monitor = LossMonitor(jump=10.0)
    look(loss_monitor, *[0.5] * 100)
    look(loss_monitor, 50.0, after=100)
    loss_monitor.acknowledge()
    look(loss_monitor, *[50.0] * 100, after=101)
    assert loss_monitor.anomaly is None
    look(loss_monitor, 501.0, after=201)
    assert loss_monitor.anomaly is not None


def test_a_jump_before_a_nan_is_told_first() -> None:
    loss_monitor = LossMonitor(jump=10.0)
    look(loss_monitor, *[0.5] * 100, 50.0, NAN)
    assert loss_monitor.anomaly is not None
    assert loss_monitor.anomaly.step == 101


def test_a_jump_among_very_many_values_at_once_is_found() -> None:
    loss_monitor = LossMonitor(jump=10.0)
    values = np.full(200_000, 0.5)
    values[100] = 6.0
    loss_monitor.look("loss", np.arange(1, 200_001), values)
    assert loss_monitor.anomaly is not None
    assert (loss_monitor.anomaly.step, loss_monitor.anomaly.good) == (101, 100)
