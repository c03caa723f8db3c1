"""The arguments of `nbtrain.fit`: all those of Keras, and errors in the cell."""

from __future__ import annotations

import inspect
from typing import Any

import keras
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.errors import ArgumentError
from tests.fitted import COLUMNS, Pieces, X, Y, assert_same, classifier, dataset, ended


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


# --- as Keras has it -----------------------------------------------------------------------


def table() -> Any:
    return pd.DataFrame(X.astype("float64"), columns=[*"abcdef"])


ONE_INPUT: dict[str, dict[str, Any]] = {
    "float64": {"x": X.astype("float64"), "y": Y},
    "tensors": {"x": tf.constant(X), "y": tf.constant(Y)},
    "pandas": {"x": table(), "y": pd.Series(Y)},
    "split": {"x": X, "y": Y, "validation_split": 0.25},
    "split by rows": {"x": table(), "y": Y, "validation_split": 0.25, "batch_size": 7},
    "class weights": {"x": X, "y": Y, "class_weight": {0: 4.0, 2: 0.5}},
    "sample weights": {"x": X, "y": Y, "sample_weight": np.abs(X[:, 0]).astype("float64")},
    "one-hot class weights": {"x": X, "y": Y, "class_weight": {1: 4.0}},
    "steps": {"x": X, "y": Y, "steps_per_epoch": 5},
    "initial epoch": {"x": X, "y": Y, "initial_epoch": 1},
    "weighted PyDataset": {"x": Pieces(), "class_weight": {1: 4.0}},
    "weighted dataset": {
        "x": tf.data.Dataset.from_tensor_slices((X, Y)).batch(8),
        "class_weight": {0: 1.0, 1: 4.0, 2: 1.0},
    },
}


@pytest.mark.parametrize("case", ONE_INPUT)
def test_data_are_taken_as_keras_takes_them(case: str) -> None:
    arguments = {"shuffle": False, "epochs": 2, **ONE_INPUT[case]}
    ours, theirs = classifier(eagerly=True), classifier(eagerly=True)
    if case.startswith("one-hot"):
        arguments["y"] = keras.utils.to_categorical(Y)
        for model in (ours, theirs):
            how: Any = {"metrics": ["mae"], "run_eagerly": True}
            model.compile(keras.optimizers.Adam(0.01), "mse", **how)
    run = ended(ours, "run", **arguments)
    theirs.fit(**arguments, verbose=0)
    for name, values in theirs.history.history.items():
        np.testing.assert_allclose(run.history[name], values, rtol=1e-5, err_msg=name)
    assert int(ours.optimizer.iterations) == int(theirs.optimizer.iterations)


def two_in_two_out() -> Any:
    keras.utils.set_random_seed(3)
    a, b = keras.Input((COLUMNS,), name="a"), keras.Input((COLUMNS,), name="b")
    both = keras.layers.Concatenate()([a, b])
    c, d = keras.layers.Dense(1, name="c")(both), keras.layers.Dense(1, name="d")(both)
    model = keras.Model([a, b], [c, d])
    model.compile("adam", "mse", metrics=[["mae"], ["mae"]], run_eagerly=True)
    return model


@pytest.mark.parametrize("form", ["dict", "list", "weighted"])
def test_several_inputs_and_outputs_are_taken_as_keras_takes_them(form: str) -> None:
    x: Any = [X, 2 * X]
    y: Any = [X[:, :1], X[:, 1:2]]
    arguments: Any = {"x": x, "y": y, "shuffle": False, "epochs": 2}
    if form == "dict":
        arguments["x"] = {"a": x[0], "b": x[1]}
    if form == "weighted":
        arguments["sample_weight"] = np.abs(X[:, 0])
    ours, theirs = two_in_two_out(), two_in_two_out()
    run = ended(ours, "run", **arguments)
    theirs.fit(**arguments, verbose=0)
    assert run.history == theirs.history.history
    assert_same(ours, theirs)


def test_a_sparse_tensor_is_drawn_row_by_row() -> None:
    def model() -> Any:
        keras.utils.set_random_seed(3)
        inputs = keras.Input((COLUMNS,), sparse=True)
        made = keras.Model(inputs, keras.layers.Dense(1)(inputs))
        made.compile(keras.optimizers.Adam(0.01), "mse", run_eagerly=True)
        return made

    dense = np.where(X > 0.5, X, 0.0).astype("float32")
    ours, theirs = model(), model()
    y = dense.sum(axis=1, keepdims=True)
    ended(ours, "run", x=tf.sparse.from_dense(dense), y=y, epochs=2, shuffle=False)
    theirs.fit(tf.sparse.from_dense(dense), y, epochs=2, shuffle=False, verbose=0)
    np.testing.assert_allclose(ours.get_weights()[0], theirs.get_weights()[0], rtol=1e-5)


def test_ragged_rows_are_drawn_row_by_row() -> None:
    ragged = tf.RaggedTensor.from_row_lengths(tf.range(90 * 91 // 2), tf.range(1, 91))
    from nbtrain.keras.data.arrays import rows_of

    found = rows_of(ragged, tf.constant([3, 0, 2], tf.int64))
    assert found.to_list() == [[6, 7, 8, 9], [0], [3, 4, 5]]
