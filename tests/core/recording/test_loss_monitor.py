"""The loss monitor: which losses are bad, since when, and which checkpoints are good."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nbtrain.recording.loss_monitor import LossMonitor, is_loss

NAN, INF = math.nan, math.inf


def look(loss_monitor: LossMonitor, *values: float, tag: str = "loss", after: int = 0) -> None:
    """Passes values of the steps after `after`."""
    steps = np.arange(after + 1, after + 1 + len(values))
    loss_monitor.observe(tag, steps, np.array(values))


@pytest.mark.parametrize(
    "tag", ["loss", "Loss", "batch_loss", "epoch_loss", "train/loss", "actor.loss", "total loss"]
)
def test_a_tag_whose_last_word_is_loss_is_monitored(tag: str) -> None:
    assert is_loss(tag)


@pytest.mark.parametrize(
    "tag",
    ["accuracy", "loss_scale", "glossy", "gloss", "val_loss", "epoch_val_loss", "test/loss", ""],
)
def test_a_tag_that_is_no_training_loss_is_not_monitored(tag: str) -> None:
    assert not is_loss(tag)
    loss_monitor = LossMonitor()
    look(loss_monitor, NAN, tag=tag or "-")
    assert loss_monitor.anomaly is None


@pytest.mark.parametrize(("bad", "word"), [(NAN, "NaN"), (INF, "infinite"), (-INF, "infinite")])
def test_the_first_bad_value_is_reported_with_tag_and_step(bad: float, word: str) -> None:
    loss_monitor = LossMonitor()
    look(loss_monitor, 0.5, 0.4)
    assert loss_monitor.anomaly is None
    look(loss_monitor, 0.3, bad, NAN, 0.2, after=2)
    assert loss_monitor.anomaly is not None
    assert (loss_monitor.anomaly.name, loss_monitor.anomaly.step) == ("loss", 4)
    assert str(loss_monitor.anomaly) == f"loss was {word} at step 4"
    look(loss_monitor, NAN, after=6)
    assert loss_monitor.anomaly.step == 4, "it is that which came first"


def test_checkpoints_followed_by_a_good_loss_are_good() -> None:
    loss_monitor = LossMonitor()
    look(loss_monitor, 0.5, 0.4, 0.3)
    look(loss_monitor, NAN, after=3)
    assert loss_monitor.anomaly is not None
    assert loss_monitor.anomaly.good == 3, (
        "of the weights after step 2 the loss of step 3 was computed"
    )


def test_a_checkpoint_followed_at_once_by_a_bad_loss_is_not_good() -> None:
    loss_monitor = LossMonitor()
    loss_monitor.rewind(100)
    look(loss_monitor, NAN, after=100)
    assert loss_monitor.anomaly is not None
    assert loss_monitor.anomaly.good == 100


def test_going_back_clears_the_anomaly() -> None:
    loss_monitor = LossMonitor()
    look(loss_monitor, 0.5, NAN)
    loss_monitor.rewind(1)
    assert loss_monitor.anomaly is None
    look(loss_monitor, 0.5, after=1)
    assert loss_monitor.anomaly is None


def test_bad_values_are_ignored_after_acknowledging_until_a_good_one() -> None:
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


def test_a_bad_variable_is_reported_by_name() -> None:
    loss_monitor = LossMonitor()
    look(loss_monitor, 0.5, 0.4)
    loss_monitor.observe_variable(lambda: "dense/kernel", 2)
    assert str(loss_monitor.anomaly) == "dense/kernel holds NaN or Inf after step 2"
    assert loss_monitor.anomaly is not None
    assert loss_monitor.anomaly.good == 2


def test_a_loss_per_epoch_leaves_checkpoints_within_the_epoch_good() -> None:
    loss_monitor = LossMonitor()
    look(loss_monitor, 0.5, tag="epoch_loss", after=9)
    look(loss_monitor, 0.5, 0.4, tag="batch_loss", after=18)
    loss_monitor.observe_variable(lambda: "dense/kernel", 20)
    assert loss_monitor.anomaly is not None
    assert loss_monitor.anomaly.good == 20


def test_without_a_loss_all_earlier_checkpoints_are_good() -> None:
    loss_monitor = LossMonitor()
    loss_monitor.observe_variable(lambda: "dense/kernel", 7)
    assert loss_monitor.anomaly is not None
    assert loss_monitor.anomaly.good == 7


def test_a_recovered_variable_clears_the_anomaly_but_a_loss_does_not() -> None:
    loss_monitor = LossMonitor()
    loss_monitor.observe_variable(lambda: "dense/kernel", 7)
    loss_monitor.observe_variable(lambda: None, 7)
    assert loss_monitor.anomaly is None
    look(loss_monitor, NAN)
    loss_monitor.observe_variable(lambda: None, 7)
    assert loss_monitor.anomaly is not None


def test_a_jump_is_reported_with_the_level() -> None:
    loss_monitor = LossMonitor(jump=10.0)
    look(loss_monitor, *[0.5] * 300, 5.1, 0.5)
    assert str(loss_monitor.anomaly) == "loss jumped from about 0.5 to 5.1 at step 301"


def test_a_jump_is_found_among_many_new_values() -> None:
    loss_monitor = LossMonitor(jump=10.0)
    look(loss_monitor, *[0.5] * 100, 6.0, *[0.5] * 50_000)
    assert loss_monitor.anomaly is not None
    assert loss_monitor.anomaly.step == 101


def test_neither_an_outlier_nor_a_slow_rise_is_a_jump() -> None:
    loss_monitor = LossMonitor(jump=10.0)
    look(loss_monitor, *[0.5] * 30, 4.9, *np.linspace(0.5, 50.0, 2000))
    assert loss_monitor.anomaly is None


@pytest.mark.parametrize("values", [[0.5] * 19, [-0.5] * 300, [0.0] * 300])
def test_without_a_level_nothing_is_a_jump(values: list[float]) -> None:
    loss_monitor = LossMonitor(jump=10.0)
    look(loss_monitor, *values)
    look(loss_monitor, 1e6, after=len(values))
    assert loss_monitor.anomaly is None


def test_acknowledging_a_jump_sets_the_new_level() -> None:
    loss_monitor = LossMonitor(jump=10.0)
    look(loss_monitor, *[0.5] * 100)
    look(loss_monitor, 50.0, after=100)
    loss_monitor.acknowledge()
    look(loss_monitor, *[50.0] * 100, after=101)
    assert loss_monitor.anomaly is None
    look(loss_monitor, 501.0, after=201)
    assert loss_monitor.anomaly is not None


def test_a_jump_before_a_nan_is_reported_first() -> None:
    loss_monitor = LossMonitor(jump=10.0)
    look(loss_monitor, *[0.5] * 100, 50.0, NAN)
    assert loss_monitor.anomaly is not None
    assert loss_monitor.anomaly.step == 101


def test_a_jump_is_found_among_very_many_new_values() -> None:
    loss_monitor = LossMonitor(jump=10.0)
    values = np.full(200_000, 0.5)
    values[100] = 6.0
    loss_monitor.observe("loss", np.arange(1, 200_001), values)
    assert loss_monitor.anomaly is not None
    assert (loss_monitor.anomaly.step, loss_monitor.anomaly.good) == (101, 100)
