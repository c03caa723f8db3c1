"""A named stage of a training goes on from the weights of a checkpoint, with a new optimizer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.errors import ArgumentError, CheckpointError
from nbtrain.rundir import status_file

ROWS = np.random.default_rng(0).normal(size=(64, 4)).astype("float32")


def two_parts() -> tuple[Any, Any]:
    """A part that is frozen at first, and the model of it and a head."""
    keras.utils.set_random_seed(1)
    base = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8, "relu")], name="base")
    base.trainable = False
    model = keras.Sequential([base, keras.layers.Dense(3)])
    model.compile("adam", "mse")
    return base, model


def thawed() -> Any:
    """Such a model, made again, of which both parts train."""
    base, model = two_parts()
    base.trainable = True
    model.compile("adam", "mse")
    return model


def fit(model: Any, folder: Path, epochs: int, **options: Any) -> Any:
    """A run that has ended."""
    more = {"logdir": folder, "system": False, "shuffle": False, **options}
    return nbtrain.fit(model, ROWS, ROWS[:, :3], epochs=epochs, **more).wait()


def weights(model: Any) -> list[Any]:
    """Copies of the weights."""
    return [keras.ops.convert_to_numpy(each) for each in model.weights]


def content(folder: Path) -> dict[str, bytes]:
    """The files of a run by their path, without those of its process."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in ("run.lock", "run.json")
    }


def test_a_refused_start_leaves_the_folder_as_it_was_and_names_the_line(tmp_path: Path) -> None:
    base, model = two_parts()
    fit(model, tmp_path / "pets", 2)
    before = content(tmp_path / "pets")
    base.trainable = True
    model.compile("adam", "mse")
    with pytest.raises(CheckpointError, match='such as stage="fine-tune"'):
        fit(model, tmp_path / "pets", 4)
    assert content(tmp_path / "pets") == before
    status = status_file.read(tmp_path / "pets").status
    assert (status.phase, status.step) == ("finished", 4)
    with pytest.raises(CheckpointError):  # another process sees it so, too
        fit(model, tmp_path / "pets", 4)
    assert content(tmp_path / "pets") == before


def test_a_stage_trains_as_a_fit_of_the_same_weights_with_a_new_optimizer(tmp_path: Path) -> None:
    base, model = two_parts()
    fit(model, tmp_path / "pets", 2)
    first = weights(model)
    base.trainable = True
    model.compile(keras.optimizers.SGD(0.01, momentum=0.9), "mse")
    run = fit(model, tmp_path / "pets", 4, stage="fine-tune")
    assert run.status.step == 8
    assert "stage 'fine-tune' has an optimizer of its own" in run.status.notice
    assert [(mark.event, mark.step, mark.text) for mark in run.marks if mark.event == "stage"] == [
        ("stage", 4, "fine-tune: the weights of ckpt-4, and a new optimizer")
    ]
    curve = run.scalars["batch_loss"]
    assert list(curve.steps) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert not curve.abandoned.any()
    twin_base, twin = two_parts()
    twin_base.trainable = True
    for variable, value in zip(twin.weights, first, strict=True):
        variable.assign(value)
    twin.compile(keras.optimizers.SGD(0.01, momentum=0.9), "mse")
    expected = twin.fit(ROWS, ROWS[:, :3], epochs=2, shuffle=False, verbose=0)
    assert run.history["loss"][2:] == expected.history["loss"]
    for mine, theirs in zip(weights(model), weights(twin), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_a_stage_begins_once_and_later_starts_go_on_with_its_optimizer(tmp_path: Path) -> None:
    _, model = two_parts()
    fit(model, tmp_path / "pets", 2, stage="head")
    model = thawed()
    fit(model, tmp_path / "pets", 4, stage="fine-tune")
    assert int(model.optimizer.iterations.numpy()) == 4
    model = thawed()  # as in another kernel
    run = fit(model, tmp_path / "pets", 6, stage="fine-tune")
    assert int(model.optimizer.iterations.numpy()) == 8
    assert [mark.event for mark in run.marks].count("stage") == 1
    run = fit(model, tmp_path / "pets", 7)  # without a name, the same one goes on
    assert int(model.optimizer.iterations.numpy()) == 10
    run = fit(model, tmp_path / "pets", 8, stage="fine-tune")
    assert int(model.optimizer.iterations.numpy()) == 12
    assert [mark.event for mark in run.marks].count("stage") == 1


def test_cells_that_run_again_from_the_first_train_nothing_and_leave_the_last_weights(
    tmp_path: Path,
) -> None:
    _, model = two_parts()
    fit(model, tmp_path / "pets", 2, stage="head")
    model = thawed()
    fit(model, tmp_path / "pets", 4, stage="fine-tune")
    last = weights(model)
    base, model = two_parts()
    head = fit(model, tmp_path / "pets", 2, stage="head")
    assert "there is nothing left to train" in head.status.message
    base.trainable = True
    model.compile("adam", "mse")
    run = fit(model, tmp_path / "pets", 4, stage="fine-tune")
    assert run.status.step == 8
    for mine, theirs in zip(weights(model), last, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert [mark.event for mark in run.marks].count("stage") == 1


def test_another_kind_of_optimizer_is_refused_without_a_stage(tmp_path: Path) -> None:
    _, model = two_parts()
    fit(model, tmp_path / "pets", 1)
    model.compile("rmsprop", "mse")
    with pytest.raises(CheckpointError, match="model/optimizer is Adam there and RMSprop here"):
        fit(model, tmp_path / "pets", 2)
    run = fit(model, tmp_path / "pets", 2, stage="rmsprop")
    assert run.status.step == 4


def test_a_stage_of_a_step_function_resets_the_optimizer_it_has_used(tmp_path: Path) -> None:
    weight = tf.Variable([4.0, 4.0])
    optimizer = keras.optimizers.Adam(0.1)
    optimizer.build([weight])
    checkpoint = tf.train.Checkpoint(weight=weight, optimizer=optimizer)

    def step() -> dict[str, Any]:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(weight**2)
        optimizer.apply_gradients([(tape.gradient(loss, weight), weight)])
        return {"loss": loss}

    options = {"checkpoint": checkpoint, "logdir": tmp_path / "steps", "system": False}
    nbtrain.train(step, steps=3, **options).wait()
    held = weight.numpy()
    run = nbtrain.train(step, steps=4, stage="second", **options).wait()
    assert int(optimizer.iterations.numpy()) == 1
    np.testing.assert_allclose(weight.numpy(), held - 0.1, rtol=1e-5)  # Adam's first step
    assert run.restore(3).wait().applied  # back to the stage before: the weights alone again
    np.testing.assert_array_equal(weight.numpy(), held)
    assert int(optimizer.iterations.numpy()) == 0


def test_new_layers_of_a_stage_keep_their_values_and_are_named(tmp_path: Path) -> None:
    base, model = two_parts()
    fit(model, tmp_path / "pets", 1)
    held = weights(base)
    keras.utils.set_random_seed(2)
    other = keras.Sequential([base, keras.layers.Dense(3), keras.layers.Dense(3)])
    other.compile("adam", "mse")
    for variable in base.weights:
        variable.assign(variable * 0)
    run = fit(other, tmp_path / "pets", 1 + 1, stage="deeper")
    assert "not in it:" in run.status.notice
    for mine, theirs in zip(weights(base), held, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("stage", ["", "  ", 3, "a" * 41, "a\nb"])
def test_a_name_that_is_none_is_refused(stage: Any) -> None:
    with pytest.raises(ArgumentError, match="stage="):
        nbtrain.train(lambda: {"loss": 1.0}, steps=1, stage=stage)


def test_a_stage_needs_a_checkpoint() -> None:
    with pytest.raises(ArgumentError, match="stage='second' without checkpoint="):
        nbtrain.train(lambda: {"loss": 1.0}, steps=1, stage="second")
