"""The arguments of `nbtrain.fit`: all those of Keras, and errors in the cell."""

from __future__ import annotations

import inspect
from typing import Any

import keras
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.errors import ArgumentError
from tests.fitted import X, Y, classifier, dataset


def test_the_arguments_of_keras_are_taken_in_their_order_with_their_defaults() -> None:
    ours = dict(inspect.signature(nbtrain.fit).parameters)
    theirs = dict(inspect.signature(keras.Model.fit).parameters)
    theirs.pop("self")
    assert [*ours][1 : len(theirs) + 1] == [*theirs]
    differing = {name for name in theirs if ours[name].default != theirs[name].default}
    assert differing == {"verbose"}  # there is the panel


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "rows": ({"x": X, "y": Y[:-1]}, "have 89 and 90 rows: give arrays"),
    "no row": ({"x": X[:0], "y": Y[:0]}, "have 0 rows: give arrays"),
    "nothing": ({}, "x=NoneType object: give arrays"),
    "validation on a number": (
        {"x": X, "y": Y, "validation_data": 3},
        "validation_data=int object: give arrays as",
    ),
    "validation on four": (
        {"x": X, "y": Y, "validation_data": (X, Y, Y, Y)},
        "validation_data=4 parts: give arrays as",
    ),
    "lists": ({"x": [[1.0], [2.0]], "y": [0, 1]}, "y=list object beside x=list object"),
    "both weights": (
        {"x": X, "y": Y, "class_weight": {0: 1.0}, "sample_weight": X[:, 0]},
        "class_weight and sample_weight were given: give one",
    ),
    "class_weight": ({"x": X, "y": Y, "class_weight": [1.0]}, "give a dict, class number"),
    "y beside a dataset": ({"x": dataset(), "y": Y}, "y=ndarray object beside x=_PrefetchDataset"),
    "empty dataset": ({"x": dataset().take(0)}, "a dataset without a batch"),
    "split dataset": ({"x": dataset(), "validation_split": 0.1}, "only arrays can be split"),
    "split": ({"x": X, "y": Y, "validation_split": 0.999}, "leaves 0 of 90 rows to train on"),
    "epochs": ({"x": X, "y": Y, "epochs": -1}, "epochs=-1: give a whole number of at least 0"),
    "batch_size": ({"x": X, "y": Y, "batch_size": 0}, "batch_size=0: give a whole number"),
    "steps": ({"x": X, "y": Y, "steps_per_epoch": 1.5}, "steps_per_epoch=1.5: give a whole"),
    "callbacks": ({"x": X, "y": Y, "callbacks": [print]}, "give objects of keras.callbacks"),
    "backup": (
        {"x": X, "y": Y, "callbacks": [keras.callbacks.BackupAndRestore("backup")]},
        "BackupAndRestore: leave it out",
    ),
    "keep": ({"x": X, "y": Y, "keep": 0}, "keep=0"),
}


@pytest.fixture(scope="module")
def refusing() -> Any:
    """A model that is never trained."""
    return classifier()


@pytest.mark.parametrize("case", REFUSED)
def test_an_unusable_argument_raises_in_the_cell_and_starts_nothing(
    refusing: Any, case: str
) -> None:
    arguments, message = REFUSED[case]
    with pytest.raises(ArgumentError, match=message):
        nbtrain.fit(refusing, **arguments)
    assert not nbtrain.runs()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (keras.Sequential([keras.layers.Dense(1)]), "is not compiled: call model.compile"),
        (keras.layers.Dense(1), "model=Dense: give a keras.Model"),
        (keras.Sequential, "model=the class Sequential"),
    ],
)
def test_an_uncompiled_model_raises(model: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        nbtrain.fit(model, X, Y)


def test_an_unknown_keyword_is_an_error() -> None:
    with pytest.raises(TypeError, match=r"does not take epoch=\. Did you mean epochs=\?"):
        nbtrain.fit(classifier(), X, Y, epoch=3)  # type: ignore[call-arg]


def test_ragged_rows_are_drawn_row_by_row() -> None:
    ragged = tf.RaggedTensor.from_row_lengths(tf.range(90 * 91 // 2), tf.range(1, 91))
    from nbtrain.keras.data.arrays import rows_of

    found = rows_of(ragged, tf.constant([3, 0, 2], tf.int64))
    assert found.to_list() == [[6, 7, 8, 9], [0], [3, 4, 5]]
