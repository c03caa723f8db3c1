"""A run that has ended: its objects are saved and restored, and it stays ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

import nbtrain
from nbtrain.rundir.entries import entries


def fitted(tmp_path: Path, **more: Any) -> tuple[Any, Any]:
    """A run of a fit that has ended, whose best state is that of its second epoch; its model."""
    keras.utils.set_random_seed(3)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    model.compile("adam", "mse")
    x = np.random.default_rng(0).normal(size=(64, 4)).astype("float32")
    rates = keras.callbacks.LearningRateScheduler(lambda epoch: [0.01, 0.01, 1.0, 1.0][epoch])
    options = {"callbacks": [rates], "keep_best": "val_loss", "system": False, **more}
    run = nbtrain.fit(
        *(model, x, x[:, :3]),
        epochs=4,
        validation_data=(x, x[:, :3]),
        logdir=tmp_path / "mine",
        **options,
    )
    return run.wait(), model


def weights(model: Any) -> list[Any]:
    """Copies of all values of a model and its optimizer."""
    return [
        keras.ops.convert_to_numpy(each) for each in (*model.variables, *model.optimizer.variables)
    ]


def same(found: list[Any], expected: list[Any]) -> bool:
    """Returns whether all values are equal bit by bit."""
    return all(one.tobytes() == other.tobytes() for one, other in zip(found, expected, strict=True))


def test_the_best_state_and_the_last_are_restored_into_the_model_of_an_ended_run(
    tmp_path: Path,
) -> None:
    run, model = fitted(tmp_path)
    last, history = weights(model), run.history
    points = len(run.scalars["batch_loss"].steps)
    outcome = run.restore("best").wait()
    assert outcome.applied
    assert outcome.text.startswith("restored ckpt-4: ")
    assert outcome.text.endswith("; the run stays finished at step 8")
    best = weights(model)
    assert int(model.optimizer.iterations.numpy()) == 4
    assert not same(best, last)
    assert run.status.phase == "finished"
    assert run.status.step == 8
    assert "hold ckpt-4" in run.status.notice
    assert run.history == history
    assert not run.scalars["batch_loss"].abandoned.any()
    assert len(run.scalars["batch_loss"].steps) == points
    assert run.restore(8).wait().applied
    assert same(weights(model), last)
    line = next(each for each in entries(tmp_path / "mine") if each["event"] == "restore")
    assert (line["step"], line["applied"]) == (8, True)
    assert not nbtrain.scalars(tmp_path)["mine", "batch_loss"].abandoned.any()


def test_the_last_state_is_saved_once_more_but_not_in_the_place_of_a_restored_one(
    tmp_path: Path,
) -> None:
    run, model = fitted(tmp_path)
    last, held = weights(model), tmp_path / "mine" / "checkpoints"
    for path in held.glob("ckpt-8.*"):
        path.unlink()
    outcome = run.save().wait()
    assert (outcome.applied, outcome.text) == (True, "saved ckpt-8")
    assert run.restore("best").wait().applied
    refused = run.save().wait()
    assert not refused.applied
    assert "hold ckpt-4, which was restored after the end" in refused.text
    assert run.restore().wait().applied  # the latest
    assert same(weights(model), last)
    assert run.save().wait().applied
    assert run.status.phase == "finished"


def test_a_start_after_a_restore_goes_on_from_the_latest_checkpoint(tmp_path: Path) -> None:
    run, model = fitted(tmp_path)
    last = weights(model)
    assert run.restore("best").wait().applied
    assert not same(weights(model), last)
    run.start().wait()
    assert run.status.step == 8
    assert same(weights(model), last)


def test_an_ended_run_restores_nothing_while_another_trains_its_model(tmp_path: Path) -> None:
    variable = tf.Variable(0.0)
    checkpoint = tf.train.Checkpoint(variable=variable)

    def step() -> dict[str, Any]:
        return {"loss": variable.assign_add(1.0)}

    first = nbtrain.train(step, steps=3, checkpoint=checkpoint, logdir=tmp_path / "first").wait()
    second = nbtrain.train(step, checkpoint=checkpoint, logdir=tmp_path / "second")
    try:
        refused = first.restore(3).wait()
        assert not refused.applied
        assert "cannot be done: The run 'second' is still training" in refused.text
    finally:
        second.request_stop()
        second.wait()
    assert first.restore(3).wait().applied
    assert float(variable) == 3.0


def test_what_cannot_be_done_after_the_end_is_refused_in_words(tmp_path: Path) -> None:
    run, _ = fitted(tmp_path)
    assert "There is no checkpoint 5" in run.restore(5).wait().text
    assert "nothing trains with it" in run.restore("best", halve="learning_rate").wait().text
    assert run.pause().wait().text == "the run has ended"
    (tmp_path / "mine").rename(tmp_path / "elsewhere")
    assert "mine is gone" in run.save().wait().text
    assert not (tmp_path / "mine").exists()


def test_a_run_that_saves_nothing_answers_that_it_has_ended() -> None:
    run = nbtrain.train(lambda: {"loss": tf.constant(1.0)}, steps=2).wait()
    assert run.save().wait().text == "the run has ended"
    assert run.restore().wait().text == "the run has ended"


def test_what_another_start_has_trained_since_is_not_saved_as_the_end(tmp_path: Path) -> None:
    variable = tf.Variable(0.0)

    def step() -> dict[str, Any]:
        return {"loss": variable.assign_add(1.0)}

    options = {"checkpoint": tf.train.Checkpoint(variable=variable), "logdir": tmp_path / "one"}
    first = nbtrain.train(step, steps=3, **options).wait()
    nbtrain.train(step, steps=5, **options).wait()
    refused = first.save().wait()
    assert not refused.applied
    assert "another start has trained here since, to step 5" in refused.text
    third = nbtrain.train(step, steps=6, **options).wait()
    assert third.status.step == 6
    assert float(variable) == 6.0


def test_a_checkpoint_of_another_run_is_not_taken_for_the_end(tmp_path: Path) -> None:
    variable = tf.Variable(0.0)
    checkpoint = tf.train.Checkpoint(variable=variable)

    def by(change: float) -> Any:
        return lambda: {"loss": variable.assign_add(change)}

    nbtrain.train(by(2.0), steps=3, checkpoint=checkpoint, logdir=tmp_path / "other").wait()
    variable.assign(0.0)
    run = nbtrain.train(by(1.0), steps=3, checkpoint=checkpoint, logdir=tmp_path / "own").wait()
    assert run.restore(str(tmp_path / "other" / "checkpoints" / "ckpt-3")).wait().applied
    assert float(variable) == 6.0
    assert not run.save().wait().applied
