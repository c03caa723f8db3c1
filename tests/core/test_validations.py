"""Which curves share a chart: a tag and its validation, by their names."""

from __future__ import annotations

import pytest

from nbtrain.panel.validations import charts_of


def test_a_validation_is_in_the_chart_of_what_it_validates() -> None:
    assert charts_of(["loss", "val_loss", "rate"]) == {"val_loss": "loss"}


def test_that_of_an_epoch_is_in_the_chart_of_the_epoch() -> None:
    tags = ["batch_loss", "epoch_loss", "epoch_accuracy", "epoch_val_accuracy", "epoch_val_loss"]
    assert charts_of(tags) == {
        "epoch_val_loss": "epoch_loss",
        "epoch_val_accuracy": "epoch_accuracy",
    }


def test_the_loss_of_an_evaluation_during_a_fit_is_in_the_chart_of_the_batches() -> None:
    tags = ["batch_loss", "epoch_loss", "epoch_val_loss", "val_loss"]
    assert charts_of(tags) == {"epoch_val_loss": "epoch_loss", "val_loss": "batch_loss"}
    assert charts_of(["loss", *tags])["val_loss"] == "loss"


@pytest.mark.parametrize("tag", ["val_loss", "epoch_val_loss"])
def test_one_of_which_nothing_is_trained_has_its_own_chart(tag: str) -> None:
    assert charts_of(["accuracy", tag]) == {tag: tag}


def test_it_is_the_same_whichever_came_first() -> None:
    assert charts_of(["val_loss", "loss"]) == charts_of(["loss", "val_loss"])


def test_a_chart_that_is_within_another_takes_nobody_in() -> None:
    assert charts_of(["loss", "val_loss", "val_val_loss"]) == {
        "val_loss": "loss",
        "val_val_loss": "val_val_loss",
    }


@pytest.mark.parametrize("tag", ["val_", "eval_loss", "interval_loss", "value", "train/val_loss"])
def test_what_is_no_validation_by_its_name_is_none(tag: str) -> None:
    assert charts_of(["loss", tag]) == {}
