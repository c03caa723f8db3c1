"""The weights of a run's checkpoint are set in a model, by `nbtrain.load`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.errors import ArgumentError, BusyError, CheckpointError


class Blocks(keras.Model):
    """A model with its layers in a list, which TensorFlow's object graph does not follow."""

    def __init__(self, units: int = 5) -> None:
        super().__init__()
        self.blocks = [keras.layers.Dense(4, "relu"), keras.layers.Dropout(0.5)]
        self.head = keras.layers.Dense(units)

    def call(self, x: Any, training: bool = False) -> Any:
        """Applies all layers."""
        for block in self.blocks:
            x = block(x, training=training)
        return self.head(x)


def built(units: int = 5, *, compiled: bool = True) -> Any:
    """A model whose variables exist."""
    model = Blocks(units)
    model(tf.zeros((1, 3)))
    if compiled:
        model.compile("adam", "mse")
    return model


def values(model: Any) -> list[bytes]:
    """The weights, bit by bit."""
    return [keras.ops.convert_to_numpy(each).tobytes() for each in model.trainable_variables]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, list[list[bytes]]]:
    """The folder of a run with a best state, the run, and the weights of all its epochs."""
    keras.utils.set_random_seed(7)
    folder, model, found = tmp_path_factory.mktemp("load") / "mine", built(), []
    x = np.random.default_rng(0).normal(size=(64, 3)).astype("float32")
    y = np.concatenate([x, x[:, :2]], 1)
    rates = keras.callbacks.LearningRateScheduler(lambda epoch: [0.01, 0.01, 1.0][epoch])
    keep = keras.callbacks.LambdaCallback(on_epoch_end=lambda *_: found.append(values(model)))
    run = nbtrain.fit(
        *(model, x, y),
        epochs=3,
        validation_data=(x, y),
        callbacks=[rates, keep],
        keep_best="val_loss",
        logdir=folder,
        system=False,
    )
    return folder, run.wait(), found


def test_the_latest_the_best_and_a_step_are_loaded_by_a_name_or_a_path(
    trained: tuple[Path, Any, list[list[bytes]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _, found = trained
    model = built()
    optimizer = model.optimizer.variables[0].numpy()
    assert repr(nbtrain.load(folder, model)) == "ckpt-6: 5 variables matched"
    assert values(model) == found[2]
    assert str(nbtrain.load(str(folder), model, "best")).startswith("ckpt-4: ")
    assert values(model) == found[1]
    nbtrain.load(folder / "checkpoints" / "ckpt-6", model)
    assert values(model) == found[2]
    nbtrain.load(folder, model, 4)
    assert values(model) == found[1]
    assert model.optimizer.variables[0].numpy() == optimizer
    (folder.parent / "runs").mkdir()
    (folder.parent / "runs" / "digits").symlink_to(folder)
    monkeypatch.chdir(folder.parent)
    nbtrain.load("digits", model)
    assert values(model) == found[2]


def test_a_run_and_an_attached_run_are_loaded_and_the_folder_stays_as_it_is(
    trained: tuple[Path, Any, list[list[bytes]]],
) -> None:
    folder, run, found = trained
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    model = built()
    nbtrain.load(run, model, "best")
    assert values(model) == found[1]
    nbtrain.load(nbtrain.attach(folder), model)
    assert values(model) == found[2]
    after = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert {path for path in before if after.get(path) != before[path]} <= {folder / "run.lock"}


@pytest.mark.parametrize("is_built", [True, False])
def test_a_checkpoint_of_objects_takes_the_optimizer_too(
    is_built: bool, trained: tuple[Path, Any, list[list[bytes]]]
) -> None:
    folder, run, found = trained
    used = run._engine._model
    model = built()
    if is_built:
        model.optimizer.build(model.trainable_variables)
    restored = nbtrain.load(folder, tf.train.Checkpoint(model=model), 6)
    assert values(model) == found[2]
    assert restored.slots == 8
    assert int(model.optimizer.iterations.numpy()) == 6
    one, other = model.optimizer.variables, used.optimizer.variables
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy())


def test_what_does_not_fit_is_refused_and_nothing_is_loaded(
    trained: tuple[Path, Any, list[list[bytes]]],
) -> None:
    folder, _, found = trained
    other = built(2)
    before = values(other)
    with pytest.raises(CheckpointError, match=r"head/bias has the shape \(5,\) there and \(2,\)"):
        nbtrain.load(folder, other)
    assert values(other) == before
    restored = nbtrain.load(folder, other, partly=True)  # all but the new head
    assert "not in it: model/head/bias, model/head/kernel" in str(restored)
    assert values(other)[:2] == found[2][:2]
    assert values(other)[2:] == before[2:]
    with pytest.raises(CheckpointError, match="call it once if it is not built"):
        nbtrain.load(folder, Blocks())
    more = Blocks()
    more.extra = keras.layers.Dense(2)
    more.extra.build((None, 3))
    more(tf.zeros((1, 3)))
    with pytest.raises(CheckpointError, match=r"no value for model/extra/bias.*partly=True"):
        nbtrain.load(folder, more)
    restored = nbtrain.load(folder, more, partly=True)
    assert "not in it: model/extra/bias, model/extra/kernel" in str(restored)
    assert [values(more)[n] for n in range(4)] == found[2]


def test_bad_arguments_are_refused_in_words(
    trained: tuple[Path, Any, list[list[bytes]]], tmp_path: Path
) -> None:
    folder, model = trained[0], built()
    with pytest.raises(ArgumentError, match="There is no run 'nowhere'"):
        nbtrain.load("nowhere", model)
    with pytest.raises(ArgumentError, match="source=3: give a run"):
        nbtrain.load(3, model)
    with pytest.raises(ArgumentError, match="into=list object: give a Keras model"):
        nbtrain.load(folder, [model])
    with pytest.raises(ArgumentError, match="holds nothing"):
        nbtrain.load(folder, tf.train.Checkpoint())
    with pytest.raises(CheckpointError, match="There is no checkpoint 5; there are those of steps"):
        nbtrain.load(folder, model, 5)
    with pytest.raises(CheckpointError, match="has no checkpoint"):
        nbtrain.load(tmp_path, model)


def test_a_compiled_model_of_a_loop_of_ones_own_is_loaded_without_its_metrics(
    tmp_path: Path,
) -> None:
    model = built()
    model.compile("adam", "mse", metrics=["mae"])
    x = np.ones((8, 3), "float32")
    checkpoint = tf.train.Checkpoint(model=model)

    def step() -> dict[str, Any]:
        return {"loss": model.train_on_batch(x, np.ones((8, 5), "float32"))[0]}

    nbtrain.train(step, steps=2, checkpoint=checkpoint, logdir=tmp_path / "own").wait()
    for other in (built(), built(compiled=False)):
        nbtrain.load(tmp_path / "own", other)
        assert values(other) == values(model)


def test_two_nets_that_both_fit_have_to_be_named(tmp_path: Path) -> None:
    actor, critic = (keras.Sequential([keras.Input((2,)), keras.layers.Dense(2)]) for _ in "12")
    checkpoint = tf.train.Checkpoint(actor=actor, critic=critic)
    step = tf.function(
        lambda: {"loss": actor.trainable_variables[0].assign_add([[1.0] * 2] * 2)[0, 0]}
    )
    nbtrain.train(step, steps=2, checkpoint=checkpoint, logdir=tmp_path / "pair").wait()
    with pytest.raises(ArgumentError, match=r"actor and critic .*tf\.train\.Checkpoint\(actor="):
        nbtrain.load(tmp_path / "pair", critic)
    nbtrain.load(tmp_path / "pair", tf.train.Checkpoint(actor=critic))
    assert values(critic) == values(actor)


def test_a_model_that_a_live_run_trains_is_not_loaded(tmp_path: Path) -> None:
    weight = tf.Variable(0.0)
    checkpoint = tf.train.Checkpoint(weight=weight)

    def step() -> dict[str, Any]:
        return {"loss": weight.assign_add(1.0)}

    nbtrain.train(step, steps=3, checkpoint=checkpoint, logdir=tmp_path / "first").wait()
    run = nbtrain.train(step, checkpoint=checkpoint, logdir=tmp_path / "second")
    try:
        with pytest.raises(BusyError, match="is still training this model"):
            nbtrain.load(tmp_path / "first", checkpoint)
    finally:
        run.request_stop()
        run.wait()
    nbtrain.load(tmp_path / "first", checkpoint)
    assert float(weight) == 3.0
