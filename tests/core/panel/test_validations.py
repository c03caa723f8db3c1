"""Which curves share a chart: a tag and its validation, by name."""

from __future__ import annotations

import pytest

from nbtrain.panel.validations import charts_of, fits_of, folder_of, name_of


def test_a_validation_shares_the_chart_of_its_training_tag() -> None:
    assert charts_of(["loss", "val_loss", "rate"]) == {"val_loss": "loss"}


def test_an_epochs_validation_shares_the_chart_of_the_epoch() -> None:
    tags = ["batch_loss", "epoch_loss", "epoch_accuracy", "epoch_val_accuracy", "epoch_val_loss"]
    assert charts_of(tags) == {
        "epoch_val_loss": "epoch_loss",
        "epoch_val_accuracy": "epoch_accuracy",
    }


def test_an_evaluation_during_a_fit_shares_the_chart_of_the_batches() -> None:
    tags = ["batch_loss", "epoch_loss", "val_loss"]
    assert charts_of(tags) == {"val_loss": "batch_loss"}
    assert charts_of(["loss", *tags])["val_loss"] == "loss"


def test_an_evaluation_beside_those_of_the_epochs_shares_their_chart() -> None:
    tags = ["batch_loss", "epoch_loss", "epoch_val_loss", "val_loss"]
    assert charts_of(tags) == {"epoch_val_loss": "epoch_loss", "val_loss": "epoch_loss"}
    assert charts_of(["loss", *tags])["val_loss"] == "loss"
    assert charts_of(["batch_loss", *tags[2:]])["val_loss"] == "batch_loss"


def test_a_metric_that_batches_do_not_have_shares_the_chart_of_the_epochs() -> None:
    tags = ["batch_loss", "epoch_accuracy", "epoch_val_accuracy", "val_accuracy"]
    assert charts_of(tags) == {
        "epoch_val_accuracy": "epoch_accuracy",
        "val_accuracy": "epoch_accuracy",
    }


@pytest.mark.parametrize("tag", ["val_loss", "epoch_val_loss"])
def test_a_validation_without_a_training_tag_has_its_own_chart(tag: str) -> None:
    assert charts_of(["accuracy", tag]) == {tag: tag}


def test_the_order_of_the_tags_does_not_matter() -> None:
    assert charts_of(["val_loss", "loss"]) == charts_of(["loss", "val_loss"])


def test_a_tag_in_another_chart_has_no_chart_to_share() -> None:
    assert charts_of(["loss", "val_loss", "val_val_loss"]) == {
        "val_loss": "loss",
        "val_val_loss": "val_val_loss",
    }


@pytest.mark.parametrize("tag", ["val_", "eval_loss", "interval_loss", "value", "train/val_loss"])
def test_a_tag_not_named_as_a_validation_is_not_one(tag: str) -> None:
    assert charts_of(["loss", tag]) == {}


def test_the_training_and_the_validation_of_a_fit_are_one_run() -> None:
    runs = ["a/train", "a/validation", "b", "b/validation", "train", "validation"]
    fits = fits_of(runs)
    assert fits == {
        "a/train": ["a/train", "a/validation"],
        "b": ["b"],
        "b/validation": ["b/validation"],
        "train": ["train", "validation"],
    }
    names = [name_of(lead, of, runs) for lead, of in fits.items()]
    assert names == ["a", "b", "b/validation", "train + validation"]
    assert name_of("b/train", ["b/train", "b/validation"], runs) == "b/train + validation"


def test_the_folders_that_all_names_share_are_whole_folders() -> None:
    assert folder_of(["x/adam1", "x/adam2"]) == "x/"
    assert folder_of(["x/y/a", "x/z"]) == "x/"
    assert folder_of(["xa", "xb"]) == ""
    assert folder_of(["x/a"]) == ""
