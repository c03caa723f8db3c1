"""Summaries that a step would write without a writer: told in the panel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

import nbtrain
from nbtrain.engines.summary_calls import of_model, unwritten
from nbtrain.run.run import Run
from tests.fitted import X, Y
from tests.gate import SOON

PICTURE = tf.zeros((1, 4, 4, 3))


def drawn(step: Any) -> None:
    tf.summary.image("picture", PICTURE, step=step)


def told(run: Run) -> str:
    run.wait(SOON)
    return run.status.message or ""


def test_a_summary_without_a_writer_is_told_with_what_to_write() -> None:
    count = tf.Variable(0, dtype=tf.int64)

    @tf.function
    def step() -> dict[str, Any]:
        drawn(count.assign_add(1))
        return {"loss": tf.constant(1.0)}

    run = nbtrain.train(step, steps=2, name="drawn")
    assert told(run).startswith(
        "tf.summary.image in drawn() records nothing: the training thread has no summary writer. "
        "Make one before the step is traced, writer = tf.summary.create_file_writer("
    )
    assert "runs/drawn" in told(run)


def test_following_the_advice_records_and_ends_the_message() -> None:
    count = tf.Variable(0, dtype=tf.int64)
    writer = tf.summary.create_file_writer("runs/written")

    @tf.function
    def step() -> dict[str, Any]:
        with writer.as_default():
            drawn(count.assign_add(1))
        return {"loss": tf.constant(1.0)}

    run = nbtrain.train(step, steps=2, name="other", logdir="runs/written")
    assert told(run) == ""
    writer.close()
    assert len(nbtrain.summaries(run.logdir, "images")[".", "picture"]) == 2


def test_a_loop_and_methods_are_looked_at_and_other_code_is_not() -> None:
    class Program:
        def draw(self) -> None:
            tf.summary.histogram("weights", PICTURE, step=1)

        def step(self) -> dict[str, Any]:
            self.draw()
            return {"loss": 1.0}

        @tf.function
        def traced(self) -> None:
            self.draw()

    program = Program()
    for step in (program.step, program.traced, lambda: program.traced(), lambda: program.draw()):
        assert "tf.summary.histogram in draw()" in str(unwritten([step], "runs/a"))
    assert unwritten([lambda summary: summary.scalar, len, None], "runs/a") is None
    assert not Path("runs").exists()

    @nbtrain.background(steps=1)
    def loop(run: Run) -> None:
        while not run.should_stop():
            tf.summary.scalar("own", 1.0, step=1)

    assert "tf.summary.scalar in loop() records nothing" in told(loop)


class Seen(keras.layers.Layer):
    """Writes what it is given."""

    def call(self, inputs: Any) -> Any:
        tf.summary.histogram("seen", inputs, step=0)
        return inputs


def test_a_layer_of_a_fit_is_looked_at() -> None:
    model = keras.Sequential([keras.Input((X.shape[1],)), Seen(), keras.layers.Dense(1)])
    model.compile("sgd", "mse", run_eagerly=True)
    assert "tf.summary.histogram in call()" in str(unwritten(of_model(model), "runs/a"))
    run = nbtrain.fit(model, X[:8], Y[:8], batch_size=4)
    assert "tf.summary.histogram in call() records nothing" in told(run)
