"""Calls of `tf.summary` in a step: what they record, and what they cannot."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import keras
import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.states import Phase
from nbtrain.run.run import Run
from tests.fitted import X, Y
from tests.gate import SOON, eventually

PICTURE = tf.zeros((1, 4, 4, 3))


def told(run: Run) -> str:
    run.wait(SOON)
    return run.status.message or ""


def steps(run: Run, kind: str, tag: str) -> list[int]:
    """The steps at which the run's event file has a tag."""
    run.wait(SOON)
    return [*map(int, nbtrain.summaries(run.logdir, kind)[".", tag].steps)]


@tf.function
def inner() -> None:
    tf.summary.text("inner", "a text")


@tf.function
def traced() -> dict[str, Any]:
    tf.summary.image("picture", PICTURE)
    tf.summary.scalar("half", 0.5)
    if tf.random.uniform(()) < 2.0:  # a branch has a graph of its own
        tf.summary.histogram("branch", PICTURE)
    inner()
    return {"loss": tf.constant(1.0)}


def eager() -> dict[str, Any]:
    tf.summary.image("picture", PICTURE)
    tf.summary.scalar("half", 0.5)
    return {"loss": 1.0}


@pytest.mark.parametrize("step", [traced, eager])
def test_a_step_needs_no_writer_and_no_step_number(step: Any) -> None:
    run = nbtrain.train(step, steps=3)
    assert steps(run, "images", "picture") == [1, 2, 3]
    assert run.scalars["half"].steps.tolist() == [1, 2, 3]
    assert told(run) == ""
    assert len(list(run.logdir.glob("*tfevents*"))) == 1  # TensorBoard reads one growing file


def test_branches_and_functions_within_the_step_record_too() -> None:
    run = nbtrain.train(traced, steps=2)
    assert steps(run, "histograms", "cond/branch") == [1, 2]
    assert steps(run, "text", "inner") == [1, 2]


def test_a_traced_step_writes_to_the_run_that_calls_it() -> None:
    first, second = (nbtrain.train(traced, steps=count).wait(SOON) for count in (2, 3))
    traced()  # by hand, in no run
    assert steps(first, "images", "picture") == [1, 2]
    assert steps(second, "images", "picture") == [1, 2, 3]


def test_the_step_can_be_asked_for_and_given() -> None:
    def step() -> dict[str, Any]:
        now = tf.summary.experimental.get_step()
        with tf.summary.record_if(now % 2 == 0):
            tf.summary.text("even", "yes")
        tf.summary.text("given", "yes", step=int(now) + 10)
        return {"loss": 1.0}

    run = nbtrain.train(step, steps=4)
    assert steps(run, "text", "even") == [2, 4]
    assert steps(run, "text", "given") == [11, 12, 13, 14]


def test_a_loop_and_an_evaluation_record() -> None:
    @nbtrain.background(steps=2)
    def loop(run: Run) -> None:
        while not run.should_stop():
            tf.summary.scalar("own", 1.0)

    def evaluate() -> dict[str, float]:
        tf.summary.text("judged", "good")
        return {"loss": 1.0}

    assert loop.wait(SOON).scalars["own"].steps.tolist() == [1, 2]
    run = nbtrain.train(eager, steps=4, evaluate=evaluate, evaluate_steps=2)
    assert steps(run, "text", "judged") == [2, 4]


class Seen(keras.layers.Layer):
    """Writes what it is given."""

    def call(self, inputs: Any) -> Any:
        tf.summary.histogram("seen", inputs)
        return inputs


class Told(keras.callbacks.Callback):
    """Writes a text after each epoch."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        tf.summary.text("epoch", f"epoch {epoch}")


def test_layers_and_callbacks_of_a_fit_record_even_if_keras_had_traced_its_step() -> None:
    model = keras.Sequential([keras.Input((X.shape[1],)), Seen(), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(X[:8], Y[:8], verbose=0)
    run = nbtrain.fit(model, X[:8], Y[:8], batch_size=4, epochs=2, callbacks=[Told()])
    assert steps(run, "text", "epoch") == [2, 4]
    tags = nbtrain.summaries(run.logdir, "histograms").tags
    assert [len(nbtrain.summaries(run.logdir, "histograms")[".", tag]) for tag in tags] == [4]
    assert told(run) == ""


def test_a_writer_that_the_user_has_set_stays_theirs() -> None:
    with tf.summary.create_file_writer("theirs").as_default(step=7):
        run = nbtrain.train(eager, steps=2).wait(SOON)
    assert len(nbtrain.summaries("theirs", "images")[".", "picture"]) == 2
    assert list(nbtrain.summaries(run.logdir, "images")) == []
    assert "half" not in run.scalars


def test_a_writer_within_the_step_stays_theirs() -> None:
    writer = tf.summary.create_file_writer("own")

    @tf.function
    def step() -> dict[str, Any]:
        with writer.as_default(step=1):
            tf.summary.image("picture", PICTURE)
        return {"loss": tf.constant(1.0)}

    assert told(nbtrain.train(step, steps=2)) == ""
    writer.close()
    assert len(nbtrain.summaries("own", "images")[".", "picture"]) == 2


def test_a_scalar_that_the_step_records_itself_is_left_out_and_told() -> None:
    def step() -> dict[str, Any]:
        tf.summary.scalar("loss", 5.0)
        return {"loss": 1.0}

    run = nbtrain.train(step, steps=3).wait(SOON)
    assert run.scalars["loss"].values.tolist() == [1.0] * 3
    assert "tf.summary.scalar('loss', ...) is left out: the step records 'loss' itself" in told(run)


def test_what_xla_compiles_records_nothing_and_trains_all_the_same() -> None:
    @tf.function(jit_compile=True)
    def step() -> dict[str, Any]:
        tf.summary.scalar("half", 0.5)
        return {"loss": tf.constant(1.0)}

    run = nbtrain.train(step, steps=2).wait(SOON)
    assert run.status.step == 2
    assert "half" not in run.scalars

    model = keras.Sequential([keras.Input((X.shape[1],)), Seen(), keras.layers.Dense(1)])
    model.compile("sgd", "mse", jit_compile=True)
    assert nbtrain.fit(model, X[:8], Y[:8], batch_size=4).wait(SOON).status.step == 2


def test_a_graph_of_tensorflow_1_in_the_training_thread_is_left_alone() -> None:
    def step() -> dict[str, Any]:
        with tf.Graph().as_default(), tf.compat.v1.Session() as sess:
            tf.summary.scalar("half", 0.5)
            return {"loss": float(sess.run(tf.constant(1.0)))}

    assert nbtrain.train(step, steps=2).wait(SOON).status.step == 2


@pytest.mark.parametrize("update_freq", ["epoch", "batch"])
def test_keras_own_callback_writes_to_its_files_alone(update_freq: str, tmp_path: Path) -> None:
    theirs = keras.callbacks.TensorBoard(str(tmp_path / "theirs"), update_freq=update_freq)
    model = keras.Sequential([keras.Input((X.shape[1],)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    run = nbtrain.fit(model, X[:8], Y[:8], batch_size=4, epochs=2, callbacks=[theirs])
    assert told(run) == ""
    assert not [tag for tag in run.scalars if tag.startswith(("epoch_steps", "evaluation_"))]
    found = nbtrain.scalars(tmp_path / "theirs")
    steps = found["train", "batch_loss"].steps.tolist() if update_freq == "batch" else []
    assert steps == [1, 2, 3, 4][: len(steps)]
    assert found["train", "epoch_loss"].steps.tolist() == [0, 1]


def test_a_fit_with_keras_own_callback_by_batches_can_be_stopped(tmp_path: Path) -> None:
    theirs = keras.callbacks.TensorBoard(str(tmp_path / "theirs"), update_freq="batch")
    model = keras.Sequential([keras.Input((X.shape[1],)), Seen(), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    run = nbtrain.fit(model, X[:8], Y[:8], batch_size=4, epochs=100_000, callbacks=[theirs])
    eventually(lambda: run.status.step > 2)
    run.request_stop()
    run.wait(SOON)
    assert run.status.phase is Phase.STOPPED
    assert told(run) == ""


def test_a_callback_that_sets_its_own_writer_ends_it_before_the_runs(tmp_path: Path) -> None:
    class Writing(keras.callbacks.Callback):
        def on_train_begin(self, logs: Any = None) -> None:
            self.context = tf.summary.create_file_writer(str(tmp_path / "own")).as_default(1)
            self.context.__enter__()

        def on_train_end(self, logs: Any = None) -> None:
            tf.summary.text("last", "own")
            self.context.__exit__(None, None, None)

    model = keras.Sequential([keras.Input((X.shape[1],)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    run = nbtrain.fit(model, X[:8], Y[:8], batch_size=4, callbacks=[Writing(), Told()]).wait(SOON)
    assert run.status.phase is Phase.FINISHED
    assert len(nbtrain.summaries(tmp_path / "own", "text")[".", "last"]) == 1


def test_two_runs_at_once_have_their_own_summaries() -> None:
    gates = threading.Barrier(2, timeout=SOON)

    def step_of(value: float) -> Any:
        def step() -> dict[str, Any]:
            gates.wait()
            tf.summary.scalar("own", value)
            return {"loss": 1.0}

        return step

    runs = [nbtrain.train(step_of(each), steps=3, name=f"run{each}") for each in (1.0, 2.0)]
    found = [run.wait(SOON).scalars["own"].values.tolist() for run in runs]
    assert found == [[1.0] * 3, [2.0] * 3]


def test_what_comes_after_a_way_back_is_told_from_what_came_before() -> None:
    count = tf.Variable(0)

    @nbtrain.background(
        steps=6, checkpoint=tf.train.Checkpoint(count=count), save_steps=2, keep=None
    )
    def loop(run: Run) -> None:
        went_back = False
        while not run.should_stop():
            count.assign_add(1)
            tf.summary.text("seen", f"{int(count)}")
            tf.summary.scalar("count", float(count))
            if int(count) == 4 and not went_back:
                went_back = True
                run.restore(2)

    history = nbtrain.summaries(loop.wait(SOON).logdir, "text")[".", "seen"]
    back = history.steps.tolist().index(3, 3)
    assert history.abandoned.tolist() == [step > 2 for step in history.steps[:back]] + [False] * (
        len(history) - back
    )
    assert loop.scalars["count"].abandoned.sum() == history.abandoned.sum()
